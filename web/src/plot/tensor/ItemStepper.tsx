/** Which item of a batch: one index for each dimension before those of the picture. */
import { useEffect, useRef } from "preact/hooks";
import { formatCount } from "../../data/format";
import { gridOf, stepItem } from "../../data/tensor-window";
import { Stepper } from "../../ui/Stepper";
import { onItemStep } from "../../ui/keys";
import type { TensorView } from "../../wire";

interface Props {
  view: TensorView;
  item: readonly number[];
  canMove: boolean;
  onStep: (by: number) => void;
}

/** Nothing where there is only one. */
export function ItemStepper({ view, item, canMove, onStep }: Props) {
  const latest = useRef(onStep);
  latest.current = onStep;
  const shape = gridOf(view.shape).itemShape;
  const isThere = view.num_elements > 0 && shape.some((size) => size > 1);
  const hears = canMove && isThere;
  useEffect(() => (hears ? onItemStep((by) => latest.current(by)) : undefined), [hears]);
  if (!isThere) return null;
  const total = shape.reduce((product, size) => product * size, 1);
  return (
    <Stepper
      style="pad-s row stepper"
      label="Item"
      title={canMove ? undefined : "Other items are not in this file"}
      thing="Item"
      hasBefore={canMove && stepItem(shape, item, -1) !== null}
      hasAfter={canMove && stepItem(shape, item, 1) !== null}
      step={onStep}
    >
      <span class="fs-2">
        item <span class="mono">[{item.join(", ")}]</span>
        <span class="muted"> of {shape.length > 1 ? shape.join("×") : formatCount(total)}</span>
      </span>
    </Stepper>
  );
}
