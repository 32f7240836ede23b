/** Which item of a batch: one index for each dimension before those of the picture. */
import { useSignalEffect } from "@preact/signals";
import { useRef } from "preact/hooks";
import { formatCount } from "../format";
import { Icon } from "../shell/Icon";
import { itemStep } from "../shell/keys";
import { stepItem } from "../tensor/items";

interface Props {
  shape: readonly number[];
  item: readonly number[];
  canMove: boolean;
  onChange: (item: readonly number[]) => void;
}

export function ItemStepper({ shape, item, canMove, onChange }: Props) {
  const move = (by: number): void => {
    const next = stepItem(shape, item, by);
    if (next !== null) onChange(next);
  };
  const latest = useRef(move);
  latest.current = move;
  const seen = useRef(itemStep.peek());
  useSignalEffect(() => {
    const asked = itemStep.value;
    if (asked === seen.current) return;
    seen.current = asked;
    if (asked !== null && canMove) latest.current(asked.by);
  });
  const why = canMove ? undefined : "Other items are not in this file";
  const total = shape.reduce((product, size) => product * size, 1);
  return (
    <div class="pad-s row stepper" role="group" aria-label="Item" title={why}>
      <button
        class="btn sm square"
        aria-label="Item before"
        disabled={!canMove || stepItem(shape, item, -1) === null}
        onClick={() => move(-1)}
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
        onClick={() => move(1)}
      >
        <Icon name="right" />
      </button>
    </div>
  );
}
