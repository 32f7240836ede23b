/** Where plates are looked at from: as a run begins, with all of them in view, on the way to a place that was asked for. */
import { basisOf, type Camera, dot, type Lens, plus, type Size, times, type Vector, within } from "../camera";

/** Edges of the view that stay free when all is fitted into it, in pixels. */
type Margins = Readonly<Record<"left" | "right" | "top" | "bottom", number>>;

const LENS: Lens = {
  tangent: 0.22,
  isOfLesserSide: false,
  // From below there is nothing to see: plates are looked at from above.
  pitches: { least: 0.02, most: Math.PI / 2 - 0.005 },
  distances: { least: 0.004, most: 4000 },
};
const START = { yaw: 0.32, pitch: 0.54 };
/** Of what is wider than high: from further to the front, or its sides would be of different sizes. */
const WIDE_YAW = 0.14;

export function startCamera(isFlat: boolean, isWide = false): Camera {
  return { lens: LENS, isFlat, ...START, yaw: isWide ? WIDE_YAW : START.yaw, distance: 10, target: [0, 0, 0] };
}

/** From the same side, with all places in view. */
export function fitted(camera: Camera, places: readonly Vector[], size: Size, margins: Margins): Camera {
  if (places.length === 0) return camera;
  const [right, up, back] = basisOf(camera);
  const half = Math.max(1, size.height) / 2;
  // How far to each side of the middle something may be seen, as tangents.
  const tangents = [
    (size.width / 2 - margins.left) / half,
    (size.width / 2 - margins.right) / half,
    (half - margins.bottom) / half,
    (half - margins.top) / half,
  ].map((share) => Math.max(0.1, share) * camera.lens.tangent);
  const seen = places.map((place): Vector => [dot(place, right), dot(place, up), dot(place, back)]);
  const across = frame(seen, 0, tangents[0]!, tangents[1]!, camera.isFlat);
  const upright = frame(seen, 1, tangents[2]!, tangents[3]!, camera.isFlat);
  const depths = seen.map((place) => place[2]);
  const middle = (Math.min(...depths) + Math.max(...depths)) / 2;
  const eye = Math.max(across.depth, upright.depth) + (camera.isFlat ? middle : 0);
  const distance = within(eye - middle, camera.lens.distances);
  const held = camera.isFlat ? distance : eye;
  const target = [
    times(right, across.place(held)),
    times(up, upright.place(held)),
    times(back, middle),
  ].reduce<Vector>(plus, [0, 0, 0]);
  return { ...camera, distance, target };
}

interface Framing {
  /** Where along the line of sight the eye has to be at least. */
  readonly depth: number;
  /** Where it then is, along this axis. */
  readonly place: (depth: number) => number;
}

/**
 * Of an eye at `e`, which sees what is within `low` and `high` times the way to it: each place asks for
 * `e + high * depth` to be no less than one number, and `e - low * depth` no more than another.
 */
function frame(seen: readonly Vector[], axis: 0 | 1, low: number, high: number, isFlat: boolean): Framing {
  const depthOf = (place: Vector): number => (isFlat ? 0 : place[2]);
  const most = Math.max(...seen.map((place) => place[axis] + high * depthOf(place)));
  const least = Math.min(...seen.map((place) => place[axis] - low * depthOf(place)));
  return {
    depth: (most - least) / (low + high),
    place: (depth) => (most - high * depth + least + low * depth) / 2,
  };
}

export function onTheWay(from: Camera, to: Camera, share: number): Camera {
  const mix = (a: number, b: number): number => a + (b - a) * share;
  return {
    ...to,
    yaw: mix(from.yaw, to.yaw),
    pitch: mix(from.pitch, to.pitch),
    distance: Math.exp(mix(Math.log(from.distance), Math.log(to.distance))),
    target: [0, 1, 2].map((at) => mix(from.target[at]!, to.target[at]!)) as unknown as Vector,
  };
}
