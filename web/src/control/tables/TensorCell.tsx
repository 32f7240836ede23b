/** A tensor in the cell of a table, as a little picture. */
import { computed } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { formatNumberOf, formatValue } from "../../format";
import { themeTick } from "../../store";
import { readPalette, type Scale } from "../../tensor/colour";
import type { Grid } from "../../wire";
import { paintCell, shownSize } from "./cellpicture";

/** Read anew whenever the theme changes, not for every cell. */
const palettes = computed(() => ({ tick: themeTick.value, div: readPalette("div"), seq: readPalette("seq") }));

interface Props {
  /** Of what it is: `Input of trial 4`. */
  name: string;
  values: Float32Array;
  grid: Grid;
  scale: Scale;
  room: { readonly width: number; readonly height: number };
}

export function TensorCell({ name, values, grid, scale, room }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const palette = palettes.value[scale.map];
  const size = shownSize(grid, room);
  useLayoutEffect(() => {
    const context = canvas.current?.getContext("2d") ?? null;
    if (canvas.current === null || context === null) return;
    const { width, height, pixels } = paintCell(values, grid, scale, palette);
    [canvas.current.width, canvas.current.height] = [width, height];
    context.putImageData(new ImageData(pixels, width, height), 0, 0);
  }, [values, grid, scale.map, scale.low, scale.high, palette]);
  return (
    <canvas
      ref={canvas}
      class="cell-picture"
      role="img"
      aria-label={`${name}: ${summaryOf(values)}`}
      style={{ width: `${size.width}px`, height: `${size.height}px` }}
    />
  );
}

/** In one sentence, for those who do not see it. */
function summaryOf(values: Float32Array): string {
  let [low, high, numBad] = [Infinity, -Infinity, 0];
  for (const value of values) {
    if (Number.isFinite(value)) [low, high] = [Math.min(low, value), Math.max(high, value)];
    else numBad += 1;
  }
  const bad = numBad > 0 ? `, ${formatNumberOf(numBad, "is", "are")} NaN or infinite` : "";
  const count = formatNumberOf(values.length, "value");
  if (low > high) return `${count}${bad}`;
  return `${count}${low === high ? `, all ${formatValue(low)}` : ` from ${formatValue(low)} to ${formatValue(high)}`}${bad}`;
}
