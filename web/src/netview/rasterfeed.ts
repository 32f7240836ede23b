/** The last moments of each layer beside each other, as long as they are wanted. */
import { effect } from "@preact/signals";
import type { Asked, Source } from "../source/source";
import type { NetLayer } from "../wire";
import { blocksOf } from "./blocks";
import { Latest } from "./latest";
import { step } from "./moments";
import * as state from "./netstate";
import { rank, runId } from "./netrun";
import * as store from "./store";
import { weightVariable } from "./wording";

/** Of all layers together; two bytes each. */
const MAX_LEVELS = 4_000_000;
const MOST_MOMENTS = 256;
const LEAST_MOMENTS = 32;

export interface RasterPlan {
  readonly layers: readonly string[];
  readonly numMoments: number;
}

/** The small layers first: one that is too large to be seen over time is left as it is. */
export function rasterPlan(layers: readonly NetLayer[]): RasterPlan {
  const chosen: string[] = [];
  let numUnits = 0;
  for (const { name, grid } of [...layers].sort((a, b) => a.grid.num_units - b.grid.num_units)) {
    if ((numUnits + grid.num_units) * LEAST_MOMENTS > MAX_LEVELS) break;
    numUnits += grid.num_units;
    chosen.push(name);
  }
  const numMoments = Math.min(MOST_MOMENTS, Math.floor(MAX_LEVELS / Math.max(1, numUnits)));
  return { layers: chosen, numMoments };
}

type RasterQuestion = Extract<Asked, { type: "net_raster" }>;

/** Call what it returns to stop. */
export function followRaster(source: Source): () => void {
  const latest = new Latest<RasterQuestion, ReadonlyMap<string, store.RasterValues>>({
    ask: (question) => askRaster(source, question),
    hear: (question, found) => {
      const isWanted = state.isRaster.peek() && question.run_id === runId.peek();
      if (isWanted && question.variable === store.variable.peek()) store.raster.value = found;
    },
    refuse: (_, reason) => (state.valueFailure.value = reason),
  });
  const stop = effect(() => {
    const now = step.value;
    const isWanted = state.isRaster.value && state.isKnown.value && weightVariable(store.variable.value) === null;
    if (!isWanted || now === null) {
      store.raster.value = null;
      state.notInRaster.value = 0;
      latest.want(null);
      return;
    }
    const { layers, numMoments } = rasterPlan(store.shownLayers.value);
    state.notInRaster.value = store.shownLayers.value.length - layers.length;
    const question: RasterQuestion = {
      type: "net_raster",
      run_id: runId.value,
      rank: rank.value,
      step: now,
      variable: store.variable.value,
      item: store.item.value,
      layers: [...layers],
      num_moments: numMoments,
    };
    latest.want(layers.length === 0 ? null : question);
  });
  return () => {
    stop();
    latest.stop();
    store.raster.value = null;
  };
}

async function askRaster(source: Source, question: RasterQuestion): Promise<ReadonlyMap<string, store.RasterValues>> {
  const reply = await source.ask(question);
  const { answer } = reply;
  if (answer.type !== "net_raster") throw new Error(`The server answered with ${answer.type}.`);
  const { steps } = answer;
  const blocks = blocksOf(reply, answer.blocks, steps.length);
  return new Map([...blocks].map(([layer, block]) => [layer, { ...block, steps }]));
}
