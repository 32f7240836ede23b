/** Which item of a batch: one index for each dimension before those of the picture. */
import { useEffect, useRef } from "preact/hooks";
import { formatCount } from "../format";
import { Icon } from "../shell/Icon";
import { onItemStep } from "../shell/keys";
import { stepItem } from "../tensor/items";

interface Props {
  shape: readonly number[];
  item: readonly number[];
  canMove: boolean;
  /** Go so many items on. */
  onStep: (by: number) => void;
}

export function ItemStepper({ shape, item, canMove, onStep }: Props) {
  const latest = useRef(onStep);
  latest.current = onStep;
  useEffect(() => (canMove ? onItemStep((by) => latest.current(by)) : undefined), [canMove]);
  const why = canMove ? undefined : "Other items are not in this file";
  const total = shape.reduce((product, size) => product * size, 1);
  return (
    <div class="pad-s row stepper" role="group" aria-label="Item" title={why}>
      <button
        class="btn sm square"
        aria-label="Item before"
        disabled={!canMove || stepItem(shape, item, -1) === null}
        onClick={() => onStep(-1)}
      >
        <Icon name="left" />
      </button>
      <span class="fs-2">
        item <span class="mono">[{item.join(", ")}]</span>
        <span class="muted"> of {shape.length > 1 ? shape.join("×") : formatCount(total)}</span>
      </span>
      <button
        class="btn sm square"
        aria-label="Item after"
        disabled={!canMove || stepItem(shape, item, 1) === null}
        onClick={() => onStep(1)}
      >
        <Icon name="right" />
      </button>
    </div>
  );
}
