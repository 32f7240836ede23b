/** The plate of a layer as a picture: point at a unit to read it, click it to choose it. */
import { useEffect, useRef } from "preact/hooks";
import { cellOf, unitAt } from "../netview/grids";
import type { Grid } from "../wire";
import type { Plate } from "./plates";
import { useSize } from "./useSize";

interface Props {
  grid: Grid;
  plate: Plate;
  summary: string;
  /** The unit that is outlined. */
  chosen: number | null;
  onPoint: (unit: number | null) => void;
  /** Null where units cannot be chosen. */
  onChoose: ((unit: number) => void) | null;
}

/** Cells of a small layer are no larger than this. */
const LARGEST_CELL = 40;

export function PlatePicture({ grid, plate, summary, chosen, onPoint, onChoose }: Props) {
  const [box, room] = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width, height, pixels } = plate;
  const cell = Math.min(LARGEST_CELL, (room.width - 8) / width, (room.height - 8) / height);
  const hasRoom = cell > 0;
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    context?.putImageData(new ImageData(pixels, width, height), 0, 0);
  }, [plate, hasRoom]);
  const unitUnder = (event: MouseEvent): number | null => {
    const area = canvas.current?.getBoundingClientRect();
    if (area === undefined) return null;
    const column = Math.floor(((event.clientX - area.left) / area.width) * width);
    return unitAt(grid, { column, row: Math.floor(((event.clientY - area.top) / area.height) * height) });
  };
  const move = (event: KeyboardEvent): void => {
    const by = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key];
    if (by === undefined || onChoose === null) return;
    event.preventDefault();
    event.stopPropagation();
    let { column, row } = cellOf(grid, chosen ?? 0);
    // Over the gap between two tiles.
    for (let tries = 0; tries <= grid.gap; tries++) {
      [column, row] = [column + by[0]!, row + by[1]!];
      const unit = chosen === null ? 0 : unitAt(grid, { column, row });
      if (unit !== null) {
        onChoose(unit);
        return;
      }
    }
  };
  const place = chosen === null ? null : cellOf(grid, chosen);
  return (
    <div class="an-room" ref={box}>
      {hasRoom && (
        <div
          class="an-plate"
          style={{ width: `${width * cell}px`, height: `${height * cell}px` }}
          role="img"
          aria-label={summary}
          tabIndex={0}
          onKeyDown={move}
        >
          <canvas
            ref={canvas}
            width={width}
            height={height}
            class={onChoose === null ? "" : "can"}
            onPointerMove={(event) => onPoint(unitUnder(event))}
            onPointerLeave={() => onPoint(null)}
            onClick={(event) => {
              const unit = unitUnder(event);
              if (unit !== null) onChoose?.(unit);
            }}
          />
          {place !== null && (
            <i
              class="an-chosen"
              style={{
                left: `${place.column * cell}px`,
                top: `${place.row * cell}px`,
                width: `${Math.max(4, cell)}px`,
                height: `${Math.max(4, cell)}px`,
              }}
            />
          )}
        </div>
      )}
    </div>
  );
}
