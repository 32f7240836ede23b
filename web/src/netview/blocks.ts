/** Take the blocks of a binary answer apart: the levels of each layer. */
import { Refusal, type Reply } from "../source/source";
import type { NetBlock } from "../wire";
import type { PlateValues } from "./store";

const LEVEL_BYTES = 2;

/**
 * The values of each layer. Each has bytes of its own, so that one that is kept does not keep the whole answer.
 * Of a raster there are so many moments of each.
 */
export function blocksOf(reply: Reply, blocks: readonly NetBlock[], numMoments = 1): Map<string, PlateValues> {
  const numLevels = blocks.reduce((sum, { num_units }) => sum + num_units * numMoments, 0);
  const numBytes = reply.buffer.byteLength - Math.min(reply.offset, reply.buffer.byteLength);
  if (numBytes !== numLevels * LEVEL_BYTES) {
    throw new Refusal(`${numLevels} values came as ${numBytes} bytes: the answer is damaged.`);
  }
  const found = new Map<string, PlateValues>();
  let from = reply.offset;
  for (const { layer, step, num_units: numUnits, low, high, why } of blocks) {
    const end = from + numUnits * numMoments * LEVEL_BYTES;
    found.set(layer, { levels: new Uint16Array(reply.buffer.slice(from, end)), low, high, step, why });
    from = end;
  }
  return found;
}

/** A layer of which there is nothing. */
export function nothing(step: number, why: string): PlateValues {
  return { levels: new Uint16Array(0), low: 0, high: 0, step, why };
}
