/** Numbers of units as pixels, each where it lies on the plate of its layer. */
import type { Picture } from "../../plot/Pixels";
import { labelColour, MIXED_SHARE } from "../../plot/labels";
import { cellOf, plateSize } from "../../stage3d/network/plates";
import { mix } from "../../stage3d/points/colours";
import { type Palette, paintValue, rangeOf, type Rgb, type Scale, themeColours } from "../../ui/colour-scale";
import type { Grid } from "../../wire";

/** Between tiles it is clear. */
function emptyPlate(grid: Grid): Picture {
  const { columns: width, rows: height } = plateSize(grid);
  return { width, height, pixels: new Uint8ClampedArray(4 * width * height) };
}

export function paintPlate(grid: Grid, values: ArrayLike<number>, scale: Scale, palette: Palette): Picture {
  const plate = emptyPlate(grid);
  for (let unit = 0; unit < numCells(grid, values.length); unit++) {
    const { column, row } = cellOf(grid, unit);
    paintValue(plate.pixels, 4 * (row * plate.width + column), values[unit]!, scale, palette);
  }
  return plate;
}

/** Of a colour picture, one number for each place: the mean of its three maps is not what is meant, the first is. */
function numCells(grid: Grid, count: number): number {
  return grid.is_colour ? Math.min(count, grid.rows * grid.columns * grid.tiles_across * grid.tiles_down) : count;
}

/** A colour picture, from the darkest to the brightest of its numbers. */
export function paintColours(grid: Grid, values: ArrayLike<number> & Iterable<number>): Picture {
  const plate = emptyPlate(grid);
  const { min, max } = rangeOf(values) ?? { min: 0, max: 0 };
  const size = grid.rows * grid.columns;
  for (let unit = 0; unit < size; unit++) {
    const { column, row } = cellOf(grid, unit);
    const at = 4 * (row * plate.width + column);
    for (const map of [0, 1, 2]) {
      const value = values[map * size + unit] ?? 0;
      plate.pixels[at + map] = max > min ? (255 * (value - min)) / (max - min) : 128;
    }
    plate.pixels[at + 3] = 255;
  }
  return plate;
}

/** Each unit in a colour of its own. */
export function paintKinds(grid: Grid, kinds: ArrayLike<number>, colours: readonly Rgb[], none: Rgb): Picture {
  const plate = emptyPlate(grid);
  for (let unit = 0; unit < numCells(grid, kinds.length); unit++) {
    const { column, row } = cellOf(grid, unit);
    const ink = colours[kinds[unit]!] ?? none;
    plate.pixels.set([...ink, 255], 4 * (row * plate.width + column));
  }
  return plate;
}

/** The colour of a label as the theme that is on now has it. */
export function readLabelColour(label: number, numLabels: number): Rgb {
  const [colour, mixed] = (labelColour(label, numLabels).match(/--[\w-]+/g) ?? []).map(themeColours());
  return mixed === undefined ? colour! : mix(colour!, mixed, 1 - MIXED_SHARE);
}
