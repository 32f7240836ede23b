/** The colours of the page, read from its custom properties so that the canvas follows the theme. */

export interface Palette {
  readonly background: string;
  readonly surface: string;
  readonly raised: string;
  readonly hover: string;
  readonly line: string;
  readonly line2: string;
  readonly text: string;
  readonly text2: string;
  readonly text3: string;
  readonly accent: string;
  readonly accentWeak: string;
  readonly danger: string;
  readonly warn: string;
  readonly condition: string;
  readonly input: string;
  readonly output: string;
  readonly up: string;
  readonly down: string;
  readonly steps: readonly string[];
  readonly categories: readonly string[];
  readonly font: string;
}

export function readPalette(element: Element): Palette {
  const style = getComputedStyle(element);
  const read = (name: string): string => style.getPropertyValue(name).trim();
  return {
    background: read("--sunken"),
    surface: read("--surface"),
    raised: read("--raised"),
    hover: read("--hover"),
    line: read("--line"),
    line2: read("--line-2"),
    text: read("--text"),
    text2: read("--text-2"),
    text3: read("--text-3"),
    accent: read("--accent"),
    accentWeak: read("--accent-weak"),
    danger: read("--danger"),
    warn: read("--warn"),
    condition: read("--cat-2"),
    input: read("--cat-3"),
    output: read("--cat-8"),
    up: read("--up"),
    down: read("--down"),
    steps: Array.from({ length: 10 }, (_, step) => read(`--seq-${step}`)),
    categories: Array.from({ length: 8 }, (_, index) => read(`--cat-${index + 1}`)),
    font: read("--font") || "sans-serif",
  };
}
