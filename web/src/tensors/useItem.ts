/** Which item of a batch is looked at. It stays while steps change, as long as the tensor has it. */
import { useState } from "preact/hooks";
import { stepItem } from "../tensor/items";
import { gridOf } from "../tensor/window";
import type { TensorView } from "../wire";

export interface ItemChoice {
  readonly itemOf: (view: TensorView) => readonly number[];
  readonly step: (view: TensorView, by: number) => void;
}

export function useItem(): ItemChoice {
  const [item, setItem] = useState<readonly number[] | null>(null);
  return {
    itemOf: (view) => fitting(item, view),
    // From the newest item, not the one on screen: quick steps are all taken.
    step: (view, by) =>
      setItem((before) => stepItem(gridOf(view.shape).itemShape, fitting(before, view), by) ?? before),
  };
}

/** The item that is wanted, or the one of the first look where the tensor has no such item. */
export function fitting(item: readonly number[] | null, { shape, window }: TensorView): readonly number[] {
  const { itemShape } = gridOf(shape);
  const fits = item?.length === itemShape.length && item.every((at, dim) => at < itemShape[dim]!);
  return item !== null && fits ? item : window.item;
}
