/** The way through the items of a tensor, where it has several. */
import { ItemStepper } from "../inspector/ItemStepper";
import { gridOf } from "../tensor/window";
import type { TensorView } from "../wire";
import type { ItemChoice } from "./useItem";

export function Items({ view, choice }: { view: TensorView; choice: ItemChoice }) {
  const { itemShape } = gridOf(view.shape);
  if (view.num_elements === 0 || !itemShape.some((size) => size > 1)) return null;
  return (
    <ItemStepper shape={itemShape} item={choice.itemOf(view)} canMove onStep={(by) => choice.step(view, by)} />
  );
}
