/** The numbers of a tensor as small coloured cells, without the numbers. */
import { stepClass, type Scale } from "../../tensor/colour";
import type { Cells } from "../../wire";
import { numbersOf } from "../cells";
import { CELL, gridSize, isPicture, PITCH } from "./cards";
import { MiniPicture } from "./MiniPicture";

interface Props {
  cells: Cells;
  scale: Scale;
  /** Not there yet, or never: the places without colours. */
  isGhost?: boolean;
  /** Outlined; -1 for none. */
  marked?: number;
}

export function MiniGrid({ cells, scale, isGhost = false, marked = -1 }: Props) {
  const { width, height } = gridSize(cells);
  if (isPicture(cells)) {
    if (!isGhost) return <MiniPicture cells={cells} scale={scale} />;
    return (
      <svg class="mini" width={width} height={height} aria-hidden="true">
        <rect class="ghost" x={0.5} y={0.5} width={width - 1} height={height - 1} rx={2} />
      </svg>
    );
  }
  const columns = Math.max(1, cells.num_columns);
  const numbers = numbersOf(cells);
  return (
    <svg class="mini" width={width} height={height} aria-hidden="true">
      {numbers.map((value, at) => {
        const [x, y] = [(at % columns) * PITCH, Math.floor(at / columns) * PITCH];
        if (isGhost) return <rect key={at} class="ghost" x={x + 0.5} y={y + 0.5} width={CELL - 1} height={CELL - 1} rx={2} />;
        return <rect key={at} class={stepClass(scale, value)} x={x} y={y} width={CELL} height={CELL} rx={2} />;
      })}
      {marked >= 0 && !isGhost && marked < numbers.length && (
        <rect
          class="marked"
          x={(marked % columns) * PITCH}
          y={Math.floor(marked / columns) * PITCH}
          width={CELL}
          height={CELL}
          rx={2}
        />
      )}
    </svg>
  );
}
