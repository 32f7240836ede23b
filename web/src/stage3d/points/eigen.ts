/** The foremost eigenvectors of a symmetric matrix that is known by what it does to a vector. */

/** Put the vector through the matrix, into `out`. */
export type Apply = (vector: Float64Array, out: Float64Array) => Generator<number>;

export interface Eigen {
  /** Falling. */
  readonly values: readonly number[];
  /** One after the other, of length one; the largest part of each is positive. */
  readonly vectors: Float64Array;
}

/** Beside those that are wanted: they make the wanted ones settle sooner. */
const SPARE = 8;
/** What is left of a vector after the others were taken from it, when it was made of them but for rounding. */
const VANISHED = 1e-11;

export interface Patience {
  readonly mostRounds: number;
  /** How far an eigenvector may be from one, as a part of the largest eigenvalue. */
  readonly tolerance: number;
}

/** Turn a block of vectors through the matrix until it holds the foremost ones. */
export function* leadingEigenvectors(
  apply: Apply,
  size: number,
  count: number,
  { mostRounds, tolerance }: Patience,
): Generator<number, Eigen> {
  const width = Math.min(size, count + SPARE);
  let block = startBlock(size, width);
  let values: number[] = new Array<number>(width).fill(0);
  for (let round = 0; round < mostRounds; round++) {
    orthonormalise(block);
    const through: Float64Array[] = [];
    for (const vector of block) {
      const out = new Float64Array(size);
      yield* named(apply(vector, out), 0.65 + (0.35 * round) / mostRounds);
      through.push(out);
    }
    const small = new Float64Array(width * width);
    for (let row = 0; row < width; row++) {
      for (let column = 0; column < width; column++)
        small[row * width + column] = dot(block[row]!, through[column]!);
    }
    const turned = jacobi(small, width);
    const settled = isSettled(turned.values, block, through, turned.vectors, count, tolerance);
    values = [...turned.values];
    if (settled || round === mostRounds - 1) {
      block = combine(block, turned.vectors, width);
      break;
    }
    block = combine(through, turned.vectors, width);
  }
  const vectors = new Float64Array(size * count);
  for (let at = 0; at < count; at++) vectors.set(pointed(block[at]!), at * size);
  return { values: values.slice(0, count), vectors };
}

function* named(steps: Generator<number>, progress: number): Generator<number> {
  for (const step of steps) yield Math.max(step, progress);
}

/** Always the same vectors, and no two alike. */
function startBlock(size: number, width: number): Float64Array[] {
  let state = 12345;
  const next = (): number => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return state / 2 ** 32 - 0.5;
  };
  return Array.from({ length: width }, () => Float64Array.from({ length: size }, next));
}

function dot(left: Float64Array, right: Float64Array): number {
  let sum = 0;
  for (let at = 0; at < left.length; at++) sum += left[at]! * right[at]!;
  return sum;
}

/** Twice over, since once leaves errors where vectors are nearly alike. */
function orthonormalise(block: Float64Array[]): void {
  for (const [at, vector] of block.entries()) {
    const before = Math.sqrt(dot(vector, vector));
    for (let time = 0; time < 2; time++) {
      for (const other of block.slice(0, at)) {
        const along = dot(other, vector);
        for (let dim = 0; dim < vector.length; dim++) vector[dim]! -= along * other[dim]!;
      }
    }
    const length = Math.sqrt(dot(vector, vector));
    if (length > VANISHED * before) {
      for (let dim = 0; dim < vector.length; dim++) vector[dim]! /= length;
    } else {
      replace(block, at);
    }
  }
}

/** A vector that has vanished (the matrix has no more directions) gives way to any that is free. */
function replace(block: Float64Array[], at: number): void {
  const vector = block[at]!;
  for (let unit = 0; unit < vector.length; unit++) {
    vector.fill(0);
    vector[unit] = 1;
    for (let time = 0; time < 2; time++) {
      for (const other of block.slice(0, at)) {
        const along = dot(other, vector);
        for (let dim = 0; dim < vector.length; dim++) vector[dim]! -= along * other[dim]!;
      }
    }
    const length = Math.sqrt(dot(vector, vector));
    if (length < 0.5 / Math.sqrt(vector.length)) continue;
    for (let dim = 0; dim < vector.length; dim++) vector[dim]! /= length;
    return;
  }
}

function combine(block: readonly Float64Array[], turns: Float64Array, width: number): Float64Array[] {
  return Array.from({ length: width }, (_, at) => {
    const made = new Float64Array(block[0]!.length);
    for (let from = 0; from < width; from++) {
      const weight = turns[at * width + from]!;
      const vector = block[from]!;
      for (let dim = 0; dim < made.length; dim++) made[dim]! += weight * vector[dim]!;
    }
    return made;
  });
}

/** Does the matrix only stretch each wanted vector, as it does an eigenvector? */
function isSettled(
  values: readonly number[],
  block: readonly Float64Array[],
  through: readonly Float64Array[],
  turns: Float64Array,
  count: number,
  tolerance: number,
): boolean {
  const width = block.length;
  const largest = Math.max(Math.abs(values[0] ?? 0), 1e-300);
  for (let at = 0; at < count; at++) {
    let rest = 0;
    for (let dim = 0; dim < block[0]!.length; dim++) {
      let [made, kept] = [0, 0];
      for (let from = 0; from < width; from++) {
        const weight = turns[at * width + from]!;
        made += weight * through[from]![dim]!;
        kept += weight * block[from]![dim]!;
      }
      const part = made - values[at]! * kept;
      rest += part * part;
    }
    if (Math.sqrt(rest) > tolerance * largest) return false;
  }
  return true;
}

/** All eigenvectors of a small symmetric matrix, by rotations that clear one pair of places at a time. */
export function jacobi(matrix: Float64Array, size: number): Eigen {
  const work = Float64Array.from(matrix);
  const vectors = new Float64Array(size * size);
  for (let at = 0; at < size; at++) vectors[at * size + at] = 1;
  for (let sweep = 0; sweep < 60; sweep++) {
    let [off, on] = [0, 0];
    for (let row = 0; row < size; row++) {
      for (let column = 0; column < size; column++) {
        const square = work[row * size + column]! ** 2;
        if (row === column) on += square;
        else off += square;
      }
    }
    if (off <= 1e-30 * on || off === 0) break;
    for (let row = 0; row < size; row++) {
      for (let column = row + 1; column < size; column++) rotate(work, vectors, size, row, column);
    }
  }
  const order = Array.from({ length: size }, (_, at) => at).sort(
    (a, b) => work[b * size + b]! - work[a * size + a]!,
  );
  const sorted = new Float64Array(size * size);
  for (const [to, from] of order.entries())
    sorted.set(vectors.subarray(from * size, (from + 1) * size), to * size);
  return { values: order.map((at) => work[at * size + at]!), vectors: sorted };
}

function rotate(work: Float64Array, vectors: Float64Array, size: number, p: number, q: number): void {
  const between = work[p * size + q]!;
  if (between === 0) return;
  const slope = (work[q * size + q]! - work[p * size + p]!) / (2 * between);
  const tangent = (slope < 0 ? -1 : 1) / (Math.abs(slope) + Math.hypot(slope, 1));
  const cosine = 1 / Math.hypot(tangent, 1);
  const sine = tangent * cosine;
  for (let at = 0; at < size; at++) {
    const [left, right] = [work[at * size + p]!, work[at * size + q]!];
    work[at * size + p] = cosine * left - sine * right;
    work[at * size + q] = sine * left + cosine * right;
  }
  for (const target of [work, vectors]) {
    for (let at = 0; at < size; at++) {
      const [left, right] = [target[p * size + at]!, target[q * size + at]!];
      target[p * size + at] = cosine * left - sine * right;
      target[q * size + at] = sine * left + cosine * right;
    }
  }
}

/** An axis has two ends: the largest part is made positive, so that it is the same end each time. */
function pointed(vector: Float64Array): Float64Array {
  let largest = 0;
  for (const part of vector) if (Math.abs(part) > Math.abs(largest) * (1 + 1e-9)) largest = part;
  return largest < 0 ? vector.map((part) => -part) : vector;
}
