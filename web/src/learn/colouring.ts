/** The colours of numbers: values and gradients have a scale each, with nought in the middle. */
import type { Scale } from "../tensor/colour";
import type { BackwardStep, Cells } from "../wire";
import { haveSameNumbers, limitOf } from "./cells";
import { isScaleShared, limits } from "./store";

/** `own`: a tensor that stands for itself, up to its own largest. */
export type Ink = "value" | "gradient" | "own";

export function scaleFor(cells: Cells, ink: Ink): Scale {
  const limit = isScaleShared.value && ink !== "own" ? limits.value[ink] : limitOf([cells]);
  return { map: "div", low: -limit, high: limit };
}

/** A factor is a gradient where it is what arrived, in whatever form; else it is made of values. */
export function inkOf(step: BackwardStep, factor: Cells): Ink {
  return haveSameNumbers(factor, step.upstream) ? "gradient" : "value";
}
