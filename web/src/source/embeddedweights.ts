/** Which weights a unit receives and sends, laid on the units at their other end; as netview/weights does it in Python. */
import { headsReached, headsRead } from "./embeddedattention";
import { product, type Ends, type Laid } from "./embeddedends";
import { kernelOf, reached, read } from "./embeddedkernels";

/** Null where the weights do not fit the layers. */
export function laid(ends: Ends, unit: number, direction: "received" | "sent"): Laid | null {
  const isReceived = direction === "received";
  switch (ends.connection.form) {
    case "linear":
      return linear(ends, unit, isReceived);
    case "conv":
    case "transposed_conv": {
      const kernel = kernelOf(ends);
      // A transposed convolution is a convolution read backwards.
      const isRead = isReceived === (ends.connection.form === "conv");
      return kernel === null ? null : (isRead ? read : reached)(kernel, unit);
    }
    case "embedding":
      return embedding(ends, unit, isReceived);
    case "attention":
      return isReceived ? headsRead(ends, unit) : headsReached(ends, unit);
    case "other":
      return null;
  }
}

/** A layer over the last dimension connects what has the same place in all others, the same token say. */
function linear({ connection, weightShape, source, target }: Ends, unit: number, isReceived: boolean): Laid | null {
  const [first = 0, second = 0] = weightShape;
  const [numOut, numIn] = connection.is_transposed ? [second, first] : [first, second];
  if (weightShape.length !== 2 || numOut === 0 || numIn === 0) return null;
  const numRows = Math.floor(product(target) / numOut);
  if (!isCutInRows(source, numIn) || !isCutInRows(target, numOut)) return null;
  if (numRows * numIn !== product(source) || numRows * numOut !== product(target)) return null;
  const [own, others] = isReceived ? [numOut, numIn] : [numIn, numOut];
  const [row, column] = [Math.floor(unit / own), unit % own];
  // Does the unit have a row of the weights as they stand, or a column?
  const isAlong = isReceived !== connection.is_transposed;
  const units = Array.from({ length: others }, (_, at) => row * others + at);
  const places = units.map((_, at) => (isAlong ? column * second + at : at * second + column));
  return { units, places };
}

/** Can a view make rows of so many units? Dimensions that have changed places on the way mostly cannot. */
function isCutInRows(shape: readonly number[], numUnits: number): boolean {
  let rest = numUnits;
  for (const size of [...shape].reverse()) {
    if (rest % size !== 0) return size % rest === 0;
    rest /= size;
  }
  return rest === 1;
}

function embedding({ weightShape, source, target, token }: Ends, unit: number, isReceived: boolean): Laid | null {
  const [numTokens = 0, numFeatures = 0] = weightShape;
  if (weightShape.length !== 2 || numFeatures === 0 || product(target) !== product(source) * numFeatures) return null;
  const place = isReceived ? Math.floor(unit / numFeatures) : unit;
  const row = token(place);
  if (row === null || !Number.isInteger(row) || row < 0 || row >= numTokens) return null;
  if (isReceived) return { units: [place], places: [row * numFeatures + (unit % numFeatures)] };
  const features = Array.from({ length: numFeatures }, (_, at) => at);
  return { units: features.map((at) => unit * numFeatures + at), places: features.map((at) => row * numFeatures + at) };
}
