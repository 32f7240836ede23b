/** Which labels have room on screen, so that none covers another. */

export interface Label {
  readonly text: string;
  /** Where it belongs. */
  readonly x: number;
  readonly y: number;
  readonly weight: "plain" | "strong" | "middle";
}

export interface PlacedLabel extends Label {
  /** The left end of its base line. */
  readonly left: number;
  readonly base: number;
}

const HEIGHT = 14;
const GAP = 7;
const LONGEST = 28;

/** The first come first; a strong label stands even where there is no room. */
export function placeLabels(
  labels: readonly Label[],
  widthOf: (text: string) => number,
  size: { readonly width: number; readonly height: number },
): PlacedLabel[] {
  const taken: [number, number, number, number][] = [];
  const placed: PlacedLabel[] = [];
  for (const label of labels) {
    const text = shortened(label.text);
    if (text === "") continue;
    const width = widthOf(text);
    const isMiddle = label.weight === "middle";
    const right = label.x + GAP;
    const left = isMiddle ? label.x - width / 2 : right + width > size.width ? label.x - GAP - width : right;
    const base = label.y + 4;
    const box: [number, number, number, number] = [left - 2, base - HEIGHT + 3, left + width + 2, base + 3];
    const isOutside = box[2] < 0 || box[0] > size.width || box[3] < 0 || box[1] > size.height;
    if (isOutside || (label.weight !== "strong" && taken.some((other) => overlaps(other, box)))) continue;
    taken.push(box);
    placed.push({ ...label, text, left, base });
  }
  return placed;
}

function overlaps(a: readonly number[], b: readonly number[]): boolean {
  return a[0]! < b[2]! && b[0]! < a[2]! && a[1]! < b[3]! && b[1]! < a[3]!;
}

/** One line; what would steer the text (line ends, marks of direction) is left out. */
export function shortened(text: string): string {
  const line = text.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, " ").trim();
  const letters = Array.from(line);
  return letters.length <= LONGEST ? line : `${letters.slice(0, LONGEST - 1).join("")}…`;
}
