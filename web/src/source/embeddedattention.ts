/** Attention: a unit of a head receives from the values of all tokens, each by the attention to it. */
import type { Ends, Laid } from "./embeddedends";

/** Where a head's feature of a token stands in a layer. */
interface Heads {
  readonly numTokens: number;
  readonly numHeads: number;
  /** Of a head. */
  readonly numFeatures: number;
  /** Heads of queries for each head here. */
  readonly group: number;
  /** The first feature, where others stand before. */
  readonly start: number;
  /** Features of a token; 0 where heads come before tokens. */
  readonly width: number;
}

type Place = readonly [head: number, token: number, feature: number];

export function headsRead(ends: Ends, unit: number): Laid | null {
  const both = bothOf(ends);
  if (both === null) return null;
  const [, numQueries = 0, numKeys = 0] = ends.weightShape;
  const [head, query, feature] = find(both.outputs, unit);
  const keys = Array.from({ length: numKeys }, (_, key) => key);
  return {
    units: keys.map((key) => unitAt(both.values, [Math.floor(head / both.values.group), key, feature])),
    places: keys.map((key) => (head * numQueries + query) * numKeys + key),
  };
}

export function headsReached(ends: Ends, unit: number): Laid | null {
  const both = bothOf(ends);
  if (both === null) return null;
  const { outputs, values } = both;
  const [, numQueries = 0, numKeys = 0] = ends.weightShape;
  const [own, key, feature] = find(values, unit);
  const [units, places]: [number[], number[]] = [[], []];
  // Before the first head stand queries and keys: they send nothing by attention.
  if (own < 0 || own >= values.numHeads) return { units, places };
  for (let head = own * values.group; head < (own + 1) * values.group; head++) {
    for (let query = 0; query < numQueries; query++) {
      units.push(unitAt(outputs, [head, query, feature]));
      places.push((head * numQueries + query) * numKeys + key);
    }
  }
  return { units, places };
}

function unitAt({ width, numTokens, numFeatures, start }: Heads, [head, token, feature]: Place): number {
  if (width === 0) return (head * numTokens + token) * numFeatures + feature;
  return token * width + start + head * numFeatures + feature;
}

function find({ width, numTokens, numFeatures, start }: Heads, unit: number): Place {
  if (width === 0) {
    const row = Math.floor(unit / numFeatures);
    return [Math.floor(row / numTokens), row % numTokens, unit % numFeatures];
  }
  const column = (unit % width) - start;
  const head = Math.floor(column / numFeatures);
  return [head, Math.floor(unit / width), column - head * numFeatures];
}

function bothOf({ weightShape, source, target }: Ends): { outputs: Heads; values: Heads } | null {
  const [numHeads = 0, numQueries = 0, numKeys = 0] = weightShape;
  if (weightShape.length !== 3 || weightShape.includes(0)) return null;
  const outputs = headsOf(target, numQueries, numHeads, 0);
  if (outputs?.numHeads !== numHeads || outputs.start !== 0) return null;
  const values = headsOf(source, numKeys, numHeads, outputs.numFeatures);
  return values === null ? null : { outputs, values };
}

/** `known`: the features of a head, or 0. */
function headsOf(shape: readonly number[], numTokens: number, mostHeads: number, known: number): Heads | null {
  if (shape.length === 2) return headsSideBySide(shape, numTokens, mostHeads, known);
  const [numHeads = 0, tokens = 0, features = 0] = shape;
  const isFit = shape.length === 3 && tokens === numTokens && features > 0;
  if (!isFit || (known !== 0 && features !== known)) return null;
  return heads(numHeads, features, { start: 0, width: 0 }, numTokens, mostHeads);
}

function headsSideBySide(shape: readonly number[], numTokens: number, mostHeads: number, known: number): Heads | null {
  const [tokens = 0, width = 0] = shape;
  const features = known === 0 ? Math.floor(width / mostHeads) : known;
  if (tokens !== numTokens || features === 0 || width % features !== 0) return null;
  let numHeads = width / features;
  // Queries, keys and values side by side: the values are the last.
  if (numHeads > mostHeads) numHeads = (numHeads - mostHeads) % 2 === 0 ? (numHeads - mostHeads) / 2 : 0;
  const start = width > mostHeads * features ? width - numHeads * features : 0;
  return heads(numHeads, features, { start, width }, numTokens, mostHeads);
}

function heads(
  numHeads: number,
  numFeatures: number,
  place: { start: number; width: number },
  numTokens: number,
  mostHeads: number,
): Heads | null {
  if (numHeads < 1 || mostHeads % numHeads !== 0) return null;
  return { numTokens, numHeads, numFeatures, group: mostHeads / numHeads, ...place };
}
