/** How samples, units and numbers of the page Features are said. */
import { formatCount, formatNumberOf } from "../../../data/format";
import type { FeatureLayer, FeatureRows, FeatureSetListing } from "../../../wire";

/** `digit-0012: 3`, as far as that is known. */
export function sampleName(rows: FeatureRows, row: number): string {
  const number = rows.label_of[row];
  const label = number === undefined ? "" : (rows.labels[number] ?? "");
  const id = rows.ids[row] ?? "";
  const name = id === String(rows.samples[row]) ? `sample ${formatCount(rows.samples[row] ?? 0)}` : id;
  return label === "" ? name : `${name} (${label})`;
}

/** `16×8×8`; what varies is a question mark. */
export function shapeText(shape: readonly number[]): string {
  return shape.length === 0 ? "scalar" : shape.map((size) => (size < 0 ? "?" : String(size))).join("×");
}

/** `channel 16, y 8, x 8`. */
export function dimsText({ shape, dims }: Pick<FeatureLayer, "shape" | "dims">): string {
  return shape.map((size, at) => `${dims[at] ?? "dimension"} ${size < 0 ? "varies" : formatCount(size)}`).join(", ");
}

/** `[3, 0, 7]`: where a unit is in its layer. */
export function placeText(place: readonly number[]): string {
  return place.length < 2 ? "" : `[${place.join(", ")}]`;
}

/** `on 500 of 1797 samples`. */
export function basisText(count: number, all: number): string {
  return count >= all ? `all ${formatNumberOf(all, "sample")}` : `${formatCount(count)} of ${formatNumberOf(all, "sample")}`;
}

/** `640 of 1797 samples`, or all of them. */
export function samplesText({ num_done: done, num_samples: all, is_complete: isComplete }: FeatureSetListing): string {
  if (isComplete) return formatCount(done);
  return all === null ? `${formatCount(done)} so far` : `${formatCount(done)} of ${formatCount(all)}`;
}
