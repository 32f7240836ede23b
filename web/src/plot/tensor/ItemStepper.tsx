/** Which item of a batch: one index for each dimension before those of the picture. */
import { useEffect, useRef } from "preact/hooks";
import { formatCount } from "../../data/format";
import { stepItem } from "../../data/tensor-window";
import { Stepper } from "../../ui/Stepper";
import { onItemStep } from "../../ui/keys";

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

// --- How wide a number is on screen.

const SIZE = 11; // --fs-1, of the cells
const GUESS = 6; // for a letter, where nothing can be measured
const known = new Map<string, number>();
let context: CanvasRenderingContext2D | null | undefined;

/** In pixels. All digits are as wide as a nought, as they are in the grid. */
export function textWidth(text: string): number {
  const shape = text.replaceAll(/[0-9]/g, "0");
  const before = known.get(shape);
  if (before !== undefined) return before;
  context ??= start();
  const width = context === null ? shape.length * GUESS : context.measureText(shape).width;
  known.set(shape, width);
  return width;
}

function start(): CanvasRenderingContext2D | null {
  const made = document.createElement("canvas").getContext("2d");
  const family = getComputedStyle(document.documentElement).getPropertyValue("--font").trim();
  if (made !== null) made.font = `${SIZE}px ${family === "" ? "sans-serif" : family}`;
  return made;
}
