/** The colours of the charts, read from the page so that they follow the theme. */

export interface Palette {
  readonly surface: string;
  readonly line: string;
  readonly line2: string;
  readonly text: string;
  readonly text2: string;
  readonly text3: string;
  readonly accent: string;
  readonly danger: string;
  /** Of the runs, by their slot from 1 to 8. */
  readonly runs: readonly string[];
  readonly font: string;
}

const NUM_RUN_COLOURS = 8;

export function readPalette(element: Element): Palette {
  const style = getComputedStyle(element);
  const read = (name: string): string => style.getPropertyValue(name).trim();
  return {
    surface: read("--surface"),
    line: read("--line"),
    line2: read("--line-2"),
    text: read("--text"),
    text2: read("--text-2"),
    text3: read("--text-3"),
    accent: read("--accent"),
    danger: read("--danger"),
    runs: Array.from({ length: NUM_RUN_COLOURS }, (_, at) => read(`--cat-${at + 1}`)),
    font: read("--font") || "sans-serif",
  };
}

export function runColour(palette: Palette, slot: number): string {
  return palette.runs[slot - 1] ?? palette.text3;
}
