/** The kernel of a convolution at its place on the picture that it reads. */
import { type Ends, type Laid, product } from "./embedded-ends";

/** Of each maps, then the sizes of the picture. */
interface Pictures {
  readonly wide: readonly number[];
  readonly narrow: readonly number[];
}

/** From a wide picture to a narrow one. Transposed, it is the same read backwards. */
export interface Kernel extends Pictures {
  /** Narrow maps, wide maps of a group, sizes of the kernel. */
  readonly shape: readonly number[];
  readonly groups: number;
  readonly stride: readonly number[];
  /** At the front. */
  readonly padding: readonly number[];
  readonly dilation: readonly number[];
}

/** Along one dimension: units, and the places of the weight that lie on them. */
interface Axis {
  readonly units: number[];
  readonly taps: number[];
}

/** More pictures than that are not tried where a shape must be found out. */
const MOST_SIZES = 100_000;

/** Null where the weights do not fit the layers. */
export function kernelOf(ends: Ends): Kernel | null {
  const { connection, weightShape: shape } = ends;
  const numAxes = shape.length - 2;
  const { groups } = connection;
  if (numAxes < 1 || shape.includes(0) || groups < 1 || shape[0]! % groups !== 0) return null;
  const stride = eachAxis(connection.stride, numAxes, 1);
  const padding = eachAxis(connection.padding, numAxes, 0);
  const dilation = eachAxis(connection.dilation, numAxes, 1);
  if (stride === null || padding === null || dilation === null || Math.min(...stride, ...dilation) < 1) return null;
  const axes = stride.map((step, axis): Along => {
    return { size: shape[2 + axis]!, step, before: padding[axis]!, gap: dilation[axis]! };
  });
  const found = picturesOf(ends, axes);
  return found === null ? null : { shape, groups, stride, padding, dilation, ...found };
}

function picturesOf({ connection, weightShape, source, target }: Ends, axes: readonly Along[]): Pictures | null {
  const [wideShape, narrowShape] = connection.form === "transposed_conv" ? [target, source] : [source, target];
  const [numNarrow, numWide] = [weightShape[0]!, weightShape[1]! * connection.groups];
  let wide = picture(wideShape, numWide, axes.length);
  let narrow = picture(narrowShape, numNarrow, axes.length);
  // A row of units that becomes a picture on its way, as in decoders, or the other way round.
  if (wide === null && narrow !== null) {
    const [, ...sizes] = narrow;
    wide = foundPicture(wideShape, numWide, axes.map((along, axis) => wideSizes(sizes[axis]!, along)));
  } else if (narrow === null && wide !== null) {
    const [, ...sizes] = wide;
    narrow = foundPicture(narrowShape, numNarrow, axes.map((along, axis) => narrowSizes(sizes[axis]!, along)));
  }
  return wide === null || narrow === null ? null : { wide, narrow };
}

/** Units of the wide picture under the kernel of a narrow unit. Those of the padding are none. */
export function read({ shape, groups, stride, padding, dilation, wide, narrow }: Kernel, unit: number): Laid {
  const [channel = 0, ...place] = indicesOf(unit, narrow);
  const numMaps = shape[1]!;
  const first = Math.floor(channel / (narrow[0]! / groups)) * numMaps;
  const axes = [axisOf(numMaps, (tap) => first + tap)];
  place.forEach((index, axis) => {
    const at = (tap: number): number => index * stride[axis]! - padding[axis]! + tap * dilation[axis]!;
    axes.push(axisOf(shape[2 + axis]!, at, wide[1 + axis]));
  });
  const steps = stepsOf(shape);
  return all(axes, stepsOf(wide), steps.slice(1), channel * steps[0]!);
}

/** Narrow units whose kernels lie over a unit of the wide picture. */
export function reached({ shape, groups, stride, padding, dilation, wide, narrow }: Kernel, unit: number): Laid {
  const [channel = 0, ...place] = indicesOf(unit, wide);
  const [group, inside] = [Math.floor(channel / shape[1]!), channel % shape[1]!];
  const numMaps = narrow[0]! / groups;
  const maps = Array.from({ length: numMaps }, (_, map) => group * numMaps + map);
  const axes: Axis[] = [{ units: maps, taps: maps }];
  place.forEach((index, axis) => {
    const at = (tap: number): number => (index + padding[axis]! - tap * dilation[axis]!) / stride[axis]!;
    axes.push(axisOf(shape[2 + axis]!, at, narrow[1 + axis]));
  });
  const steps = stepsOf(shape);
  return all(axes, stepsOf(narrow), [steps[0]!, ...steps.slice(2)], inside * steps[1]!);
}

/** Those of so many taps that lie on a unit. */
function axisOf(numTaps: number, unitAt: (tap: number) => number, numUnits = Infinity): Axis {
  const axis: Axis = { units: [], taps: [] };
  for (let tap = 0; tap < numTaps; tap++) {
    const unit = unitAt(tap);
    if (!Number.isInteger(unit) || unit < 0 || unit >= numUnits) continue;
    axis.units.push(unit);
    axis.taps.push(tap);
  }
  return axis;
}

/** All combinations along the axes. */
function all(axes: readonly Axis[], unitSteps: readonly number[], tapSteps: readonly number[], from: number): Laid {
  let [units, places] = [[0], [from]];
  axes.forEach((axis, at) => {
    const [unitStep, tapStep] = [unitSteps[at]!, tapSteps[at]!];
    units = units.flatMap((base) => axis.units.map((unit) => base + unit * unitStep));
    places = places.flatMap((base) => axis.taps.map((tap) => base + tap * tapStep));
  });
  return { units, places };
}

/** How far apart neighbours along each dimension stand. */
function stepsOf(shape: readonly number[]): number[] {
  return shape.map((_, axis) => product(shape.slice(axis + 1)));
}

function indicesOf(unit: number, shape: readonly number[]): number[] {
  return stepsOf(shape).map((step, axis) => Math.floor(unit / step) % shape[axis]!);
}

function eachAxis(given: readonly number[], numAxes: number, usual: number): number[] | null {
  const sizes = given.length === 0 ? [usual] : [...given];
  if (sizes.length === 1) return Array.from({ length: numAxes }, () => sizes[0]!);
  return sizes.length === numAxes ? sizes : null;
}

/** Maps and sizes, where the last dimensions are those of the picture. */
function picture(shape: readonly number[], numMaps: number, numAxes: number): number[] | null {
  const sizes = shape.slice(-numAxes);
  return sizes.length === numAxes && product(shape) === numMaps * product(sizes) ? [numMaps, ...sizes] : null;
}

/** A kernel along one dimension. */
interface Along {
  readonly size: number;
  readonly step: number;
  readonly before: number;
  readonly gap: number;
}

/** The only picture of so many units whose sizes are possible; null where there are several, or none. */
function foundPicture(shape: readonly number[], numMaps: number, candidates: readonly number[][]): number[] | null {
  const numPlaces = product(shape) / numMaps;
  if (!Number.isInteger(numPlaces) || numPlaces === 0) return null;
  if (product(candidates.map((sizes) => sizes.length)) > MOST_SIZES) return null;
  let found: number[][] = [[]];
  for (const sizes of candidates) found = found.flatMap((before) => sizes.map((size) => [...before, size]));
  const fitting = found.filter((sizes) => product(sizes) === numPlaces);
  return fitting.length === 1 ? [numMaps, ...fitting[0]!] : null;
}

// At the back there may be one zero more than at the front: padding="same" does that.

function wideSizes(narrow: number, { size, step, before, gap }: Along): number[] {
  const lowest = (narrow - 1) * step + gap * (size - 1) + 1 - 2 * before - 1;
  return range(Math.max(lowest, 1), Math.max(lowest + step + 1, 1));
}

function narrowSizes(wide: number, { size, step, before, gap }: Along): number[] {
  const room = wide + 2 * before - gap * (size - 1) - 1;
  return range(Math.max(Math.floor(room / step) + 1, 1), Math.max(Math.floor((room + 1) / step) + 2, 1));
}

function range(from: number, end: number): number[] {
  return Array.from({ length: Math.min(MOST_SIZES + 1, Math.max(0, end - from)) }, (_, at) => from + at);
}
