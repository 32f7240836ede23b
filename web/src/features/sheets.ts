/** Where the values of one sample stand in a picture: its planes beside each other, as large as there is room for. */
import type { Room } from "../netanalysis/useSize";

export interface Sheet {
  /** In values. */
  readonly width: number;
  readonly height: number;
  /** Pixels of one value. */
  readonly cell: number;
  /** The place of a value in the picture, counted row by row. */
  readonly placeOf: (at: number) => number;
}

/** Between planes. */
const GAP = 1;
const LARGEST_CELL = 16;

export function sheetOf(shape: readonly number[], room: Room): Sheet {
  const columns = Math.max(1, shape.at(-1) ?? 1);
  const rows = Math.max(1, shape.at(-2) ?? 1);
  const count = Math.max(1, shape.slice(0, -2).reduce((product, size) => product * size, 1));
  const perLine = bestPerLine(count, rows, columns, room);
  const lines = Math.ceil(count / perLine);
  const width = perLine * (columns + GAP) - GAP;
  const height = lines * (rows + GAP) - GAP;
  return {
    width,
    height,
    cell: Math.min(LARGEST_CELL, room.width / width, room.height / height),
    placeOf: (at) => {
      const plane = Math.floor(at / (rows * columns));
      const [row, column] = [Math.floor((at % (rows * columns)) / columns), at % columns];
      const [line, place] = [Math.floor(plane / perLine), plane % perLine];
      return (line * (rows + GAP) + row) * width + place * (columns + GAP) + column;
    },
  };
}

/** With which values are drawn largest. */
function bestPerLine(count: number, rows: number, columns: number, room: Room): number {
  let [best, largest] = [1, 0];
  for (let perLine = 1; perLine <= count; perLine++) {
    const lines = Math.ceil(count / perLine);
    const cell = Math.min(room.width / (perLine * (columns + GAP)), room.height / (lines * (rows + GAP)));
    if (cell > largest) [best, largest] = [perLine, cell];
  }
  return best;
}
