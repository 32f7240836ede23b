/** Layers and values for the tests of the drawing. */
import type { Camera, Vector } from "../../../src/stage3d/camera";
import { startCamera } from "../../../src/stage3d/network/camera";
import type { Connection, Grid, NetLayer } from "../../../src/wire";

/** The same numbers every time. */
export function dice(seed: number): () => number {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 4_294_967_296;
  };
}

export function gridOf(part: Partial<Grid>): Grid {
  const grid = { tiles_across: 1, tiles_down: 1, columns: 4, rows: 3, gap: 0, is_colour: false, ...part };
  const all = grid.tiles_across * grid.tiles_down * grid.columns * grid.rows;
  return { num_units: part.num_units ?? (grid.is_colour ? 3 * all : all), ...grid };
}

export function layerOf(name: string, grid: Partial<Grid> = {}, place: Partial<NetLayer["place"]> = {}): NetLayer {
  const whole = gridOf(grid);
  return {
    name,
    module: "",
    shape: [whole.num_units],
    grid: whole,
    variables: ["Act"],
    place: { relation: null, other: "", offset: [0, 0, 0], scale: 1, ...place },
    is_input: false,
    has_items: true,
    note: "",
  };
}

export function connect(source: string, target: string): Connection {
  return {
    source,
    target,
    form: "linear",
    weight: "",
    bias: null,
    is_transposed: false,
    stride: [],
    padding: [],
    dilation: [],
    groups: 1,
  };
}

/** Every kind of grid: rows, tiles with gaps, empty cells at the end, a colour picture, a single unit. */
export const KINDS: Readonly<Record<string, Partial<Grid>>> = {
  row: { columns: 10, rows: 1 },
  single: { columns: 1, rows: 1 },
  square: { columns: 7, rows: 6, num_units: 38 },
  tiles: { tiles_across: 3, tiles_down: 2, columns: 4, rows: 5, gap: 1 },
  "tiles, some empty": { tiles_across: 3, tiles_down: 2, columns: 4, rows: 5, gap: 2, num_units: 100 },
  "tall tiles": { tiles_across: 2, tiles_down: 2, columns: 2, rows: 9, gap: 1 },
  colour: { columns: 6, rows: 5, is_colour: true },
};

export function anyCamera(roll: () => number, target: Vector, isFlat = false): Camera {
  return {
    ...startCamera(isFlat),
    yaw: roll() * 2 * Math.PI,
    pitch: 0.03 + roll() * 1.5,
    distance: 1 + roll() * 6,
    target: [target[0] + roll() - 0.5, target[1] + roll() - 0.5, target[2] + roll() - 0.5],
  };
}
