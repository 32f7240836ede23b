/** The axes of a plot of a training: what the lower one counts, and whole ticks for what is counted. */
import { formatTicks } from "../../charting/tickwords";
import type { Axis } from "../../training/options";
import type { Line, Model } from "../../training/model";

/** In a word. */
export function axisName(axis: Axis, perEpoch: number | null): string {
  if (axis !== "step") return "time";
  return perEpoch === null ? "trials" : "epochs";
}

/** There is no half an error: where all values are whole numbers, so are the ticks. */
export function withWholeTicks(model: Model | null): Model | null {
  if (model?.lines.every(isWhole) !== true) return model;
  const whole = model.yTicks.map(({ value }) => value).filter(Number.isInteger);
  if (whole.length === 0) return model;
  const labels = formatTicks(whole);
  return { ...model, yTicks: whole.map((value, at) => ({ value, label: labels[at]! })) };
}

/** Of several points in one, the least and the most are points. */
function isWhole({ curve: { low, high } }: Line): boolean {
  return [low, high].every((values) => values.every((value) => Number.isInteger(value) || !Number.isFinite(value)));
}
