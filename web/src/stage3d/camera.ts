/** From space to pixels: in perspective around a target, or straight from the front where the view is flat. */

export interface Camera {
  readonly lens: Lens;
  readonly isFlat: boolean;
  /** Around the upright axis and above the horizon, in radians. */
  readonly yaw: number;
  readonly pitch: number;
  /** Of the eye from the target; in a flat view how much is seen. */
  readonly distance: number;
  readonly target: Vector;
}

/** What is the same for all cameras of a drawing. */
export interface Lens {
  /** Half of what is seen from top to bottom, as a tangent. */
  readonly tangent: number;
  /** Is as much seen from side to side where that is less? */
  readonly isOfLesserSide: boolean;
  readonly pitches: Bounds;
  readonly distances: Bounds;
}

interface Bounds {
  readonly least: number;
  readonly most: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

export interface Ray {
  readonly origin: Vector;
  readonly direction: Vector;
}

export interface ScreenPlace {
  readonly x: number;
  readonly y: number;
}

const TURN = 0.008;

/** Right, up and back, as seen by the camera. */
export function basisOf({ isFlat, yaw, pitch }: Camera): readonly [Vector, Vector, Vector] {
  if (isFlat) {
    return [
      [1, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
    ];
  }
  const [sy, cy, sp, cp] = [Math.sin(yaw), Math.cos(yaw), Math.sin(pitch), Math.cos(pitch)];
  return [
    [cy, 0, -sy],
    [-sy * sp, cp, -cy * sp],
    [sy * cp, sp, cy * cp],
  ];
}

export function eyeOf(camera: Camera): Vector {
  return plus(camera.target, times(basisOf(camera)[2], camera.distance));
}

/** Pixels for one unit of length at the target. */
export function pixelsPerUnit({ lens, distance }: Camera, { width, height }: Size): number {
  const side = lens.isOfLesserSide ? Math.min(width, height) : height;
  return Math.max(1, side) / 2 / (lens.tangent * distance);
}

/** Column by column, as WebGL wants it. `reach`: how far from the target something can be. */
export function viewMatrix(camera: Camera, size: Size, reach: number): Float32Array {
  const [right, up, back] = basisOf(camera);
  const row = (axis: Vector, factor: number): number[] => [
    ...times(axis, factor),
    -dot(axis, camera.target) * factor,
  ];
  // In perspective all is divided by its way from the eye.
  const scale = 2 * pixelsPerUnit(camera, size) * (camera.isFlat ? 1 : camera.distance);
  const [x, y] = [row(right, scale / Math.max(1, size.width)), row(up, scale / Math.max(1, size.height))];
  const away = row(back, -1); // how far beyond the target
  let [z, w] = [away.map((part) => part / (2 * reach)), [0, 0, 0, 1]];
  if (!camera.isFlat) {
    away[3]! += camera.distance;
    const [near, far] = depths(camera, reach);
    const slope = (far + near) / (far - near);
    z = away.map((part) => part * slope);
    z[3]! -= (2 * far * near) / (far - near);
    w = away;
  }
  const matrix = new Float32Array(16);
  for (const [line, parts] of [x, y, z, w].entries()) {
    for (let column = 0; column < 4; column++) matrix[column * 4 + line] = parts[column]!;
  }
  return matrix;
}

/** The nearest and the farthest that is drawn: near enough for one unit that fills the view. */
function depths(camera: Camera, reach: number): readonly [near: number, far: number] {
  const far = camera.distance + lengthOf(camera.target) + 2 * reach;
  return [Math.max(camera.distance * 0.02, far * 1e-5), far];
}

/** A place on screen; null behind the eye. */
export function project(camera: Camera, size: Size, place: Vector): ScreenPlace | null {
  const [right, up, back] = basisOf(camera);
  const from = minus(place, camera.target);
  const depth = camera.isFlat ? camera.distance : camera.distance - dot(from, back);
  if (depth <= camera.distance * 1e-3) return null;
  const scale = (pixelsPerUnit(camera, size) * camera.distance) / depth;
  return { x: size.width / 2 + dot(from, right) * scale, y: size.height / 2 - dot(from, up) * scale };
}

/** The line of sight through a pixel. Its direction ends in the plane of the target. */
export function rayThrough(camera: Camera, size: Size, x: number, y: number): Ray {
  const [right, up, back] = basisOf(camera);
  const unit = 1 / pixelsPerUnit(camera, size);
  const beside = plus(times(right, (x - size.width / 2) * unit), times(up, (size.height / 2 - y) * unit));
  const origin = plus(camera.target, times(back, camera.distance));
  const forward = times(back, -camera.distance);
  if (camera.isFlat) return { origin: plus(origin, beside), direction: forward };
  return { origin, direction: plus(forward, beside) };
}

export function turned(camera: Camera, byX: number, byY: number): Camera {
  if (camera.isFlat) return camera;
  return { ...camera, yaw: camera.yaw - byX * TURN, pitch: within(camera.pitch + byY * TURN, camera.lens.pitches) };
}

export function within(value: number, { least, most }: Bounds): number {
  return Math.min(most, Math.max(least, value));
}

/** Moved so that what is seen, at the depth of the target, goes with the pointer. */
export function panned(camera: Camera, byX: number, byY: number, size: Size): Camera {
  const [right, up] = basisOf(camera);
  const unit = 1 / pixelsPerUnit(camera, size);
  return { ...camera, target: plus(camera.target, plus(times(right, -byX * unit), times(up, byY * unit))) };
}

/** Nearer to a place, or away from it: it stays where it is on screen. */
export function zoomedTo(camera: Camera, factor: number, place: Vector): Camera {
  const distance = within(camera.distance / factor, camera.lens.distances);
  const share = distance / camera.distance;
  return { ...camera, distance, target: plus(place, times(minus(camera.target, place), share)) };
}

// --- Places and directions in space: right, up, to the front.

export type Vector = readonly [x: number, y: number, z: number];

export function plus(a: Vector, b: Vector): Vector {
  return [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
}

export function minus(a: Vector, b: Vector): Vector {
  return [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
}

export function times(a: Vector, factor: number): Vector {
  return [a[0] * factor, a[1] * factor, a[2] * factor];
}

export function dot(a: Vector, b: Vector): number {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

export function lengthOf(a: Vector): number {
  return Math.hypot(...a);
}

export function between(a: Vector, b: Vector, share: number): Vector {
  return plus(a, times(minus(b, a), share));
}
