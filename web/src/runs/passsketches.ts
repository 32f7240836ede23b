/** A sketch of a pass: how large each op's output is, and a few figures. Read once, and kept. */
import { signal } from "@preact/signals";
import * as store from "../store";
import type { PassDocument } from "../wire";

export interface PassSketch {
  readonly numOps: number;
  readonly numParams: number;
  readonly seconds: number;
  readonly inputShape: readonly number[] | null;
  readonly hasGradients: boolean;
  /** Elements in each op's output, in the order they ran; where there are many ops, the largest of a few. */
  readonly sizes: readonly number[];
}

export const MAX_BARS = 48;

/** By the id of the pass. Null where it cannot be read: the page of the pass itself says why. */
export const sketches = signal<ReadonlyMap<string, PassSketch | null>>(new Map());

const waiting: string[] = [];
let isReading = false;

/** Ask for the sketch of a pass. One at a time: a pass of a large model is many megabytes. */
export function askForSketch(passId: string): void {
  if (sketches.peek().has(passId) || waiting.includes(passId)) return;
  waiting.push(passId);
  if (!isReading) void readAll();
}

async function readAll(): Promise<void> {
  isReading = true;
  for (let passId = waiting[0]; passId !== undefined; passId = waiting[0]) {
    const sketch = await readSketch(passId);
    waiting.shift();
    sketches.value = new Map(sketches.peek()).set(passId, sketch);
  }
  isReading = false;
}

async function readSketch(passId: string): Promise<PassSketch | null> {
  const source = store.source.peek();
  if (source === null) return null;
  return source.openPass(passId).then(
    ({ document }) => sketchOf(document),
    () => null,
  );
}

export function sketchOf(document: PassDocument): PassSketch {
  const ops = document.ops.filter((op) => op.kind === "op");
  const input = document.ops.find((op) => op.kind === "input");
  return {
    numOps: ops.length,
    numParams: document.num_params,
    seconds: document.elapsed_seconds,
    inputShape: input?.shape ?? null,
    hasGradients: document.num_backward_passes > 0,
    sizes: largestOfEach(
      ops.map((op) => op.shape.reduce((size, length) => size * length, 1)),
      MAX_BARS,
    ),
  };
}

/** At most so many numbers, each the largest of as many neighbours as it takes. */
export function largestOfEach(values: readonly number[], atMost: number): number[] {
  const each = Math.max(1, Math.ceil(values.length / atMost));
  const found: number[] = [];
  for (let from = 0; from < values.length; from += each)
    found.push(Math.max(...values.slice(from, from + each)));
  return found;
}
