/** Names beside plates: upright whatever the view, none over another. */
import type { ScreenPlace, Size } from "./camera";

export interface Label {
  readonly name: string;
  readonly about: string;
  /** The corners of its plate on screen. */
  readonly corners: readonly ScreenPlace[];
  /** Those first have their place first. */
  readonly rank: number;
}

export interface PlacedLabel {
  readonly name: string;
  readonly about: string;
  /** Where its text ends, or begins where it is written above. */
  readonly x: number;
  /** The base line of the name. */
  readonly y: number;
  readonly isAbove: boolean;
}

interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

const LINE = 14;
const CLEAR = 10;
const EDGE = 4;

export function placeLabels(
  labels: readonly Label[],
  widthOf: (text: string) => number,
  isAbove: boolean,
  size: Size,
): readonly PlacedLabel[] {
  const taken: Box[] = [];
  const placed: PlacedLabel[] = [];
  for (const label of labels.toSorted((a, b) => b.rank - a.rank)) {
    for (const about of label.about === "" ? [""] : [label.about, ""]) {
      const { x, y, box } = isAbove ? above(label, about, widthOf) : beside(label, about, widthOf, size);
      const isOut = box.right < 0 || box.left > size.width || box.bottom < 0 || box.top > size.height;
      if (isOut || taken.some((other) => overlap(box, other))) continue;
      taken.push(box);
      placed.push({ name: label.name, about, x, y, isAbove });
      break;
    }
  }
  return placed;
}

interface Spot {
  readonly x: number;
  readonly y: number;
  readonly box: Box;
}

/** Left of the plate, at its leftmost corner: name and shape one below the other, their ends in line. */
function beside(label: Label, about: string, widthOf: (text: string) => number, size: Size): Spot {
  const corner = label.corners.reduce((best, one) => (one.x < best.x ? one : best));
  const width = Math.max(widthOf(label.name), widthOf(about));
  let x = corner.x - CLEAR;
  // A plate that reaches beyond the view keeps its name in it, as long as it is seen itself.
  const right = Math.max(...label.corners.map((one) => one.x));
  if (x - width < EDGE && right > EDGE) x = Math.min(EDGE + width, right);
  const y = Math.max(corner.y, Math.min(LINE, Math.max(...label.corners.map((one) => one.y))));
  const bottom = about === "" ? y + 3 : y + LINE + 3;
  return { x: Math.min(x, size.width + width), y, box: { left: x - width, right: x, top: y - LINE + 2, bottom } };
}

/** On one line above the plate. */
function above(label: Label, about: string, widthOf: (text: string) => number): Spot {
  const x = Math.min(...label.corners.map((one) => one.x));
  const y = Math.min(...label.corners.map((one) => one.y)) - 5;
  const width = widthOf(label.name) + (about === "" ? 0 : 6 + widthOf(about));
  return { x, y, box: { left: x, right: x + width + 4, top: y - LINE + 2, bottom: y + 3 } };
}

function overlap(a: Box, b: Box): boolean {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}
