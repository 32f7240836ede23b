/** Places and directions in space: right, up, to the front. */

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

/** On the way from one to the other. */
export function between(a: Vector, b: Vector, share: number): Vector {
  return plus(a, times(minus(b, a), share));
}
