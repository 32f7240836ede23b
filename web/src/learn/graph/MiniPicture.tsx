/** A tensor with more numbers than cells have room for: a pixel for each. */
import { useLayoutEffect, useRef } from "preact/hooks";
import * as page from "../../store";
import { paintValues, readPalette, type Scale } from "../../tensor/colour";
import type { Cells } from "../../wire";
import { numbersOf } from "../cells";
import { gridSize } from "./cards";

interface Props {
  cells: Cells;
  scale: Scale;
  /** On screen; as on a card where it is not said. */
  size?: { readonly width: number; readonly height: number };
}

export function MiniPicture({ cells, scale, size = gridSize(cells) }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const tick = page.themeTick.value;
  const [columns, rows] = [Math.max(1, cells.num_columns), Math.max(1, cells.num_rows)];
  useLayoutEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (context === null || context === undefined || cells.values.length < columns * rows) return;
    const pixels = paintValues(numbersOf(cells), 0, columns, rows, scale, readPalette("div"));
    context.putImageData(new ImageData(pixels, columns, rows), 0, 0);
  }, [cells, scale.low, scale.high, tick]);
  return (
    <canvas
      ref={canvas}
      class="mini-picture"
      width={columns}
      height={rows}
      style={{ width: `${size.width}px`, height: `${size.height}px` }}
      aria-hidden="true"
    />
  );
}
