/** Answer what a NetView asks from the values that stand in the page, as a server would from the run. */
import { formatExact } from "../format";
import { LEVELS } from "../netview/store";
import type { NetBlock, NetValuesAnswer } from "../wire";
import { levelsOf, type Levels } from "./embeddedlevels";
import type { NetData } from "./embeddednetdata";
import { numberAt, type Numbers } from "./embeddedpieces";
import type { Asked, Reply } from "./source";

type Question<Type> = Extract<Asked, { type: Type }>;

/** A block, and the levels that go with it. */
export interface Filled {
  readonly block: NetBlock;
  readonly levels: Uint16Array;
}

export function filled(layer: string, step: number, { levels, low, high }: Levels | Numbers, numMoments = 1): Filled {
  return { block: { layer, step, num_units: levels.length / numMoments, low, high, why: "" }, levels };
}

export function unfilled(layer: string, why: string): Filled {
  return { block: { layer, step: 0, num_units: 0, low: 0, high: 0, why }, levels: new Uint16Array(0) };
}

/** Levels one after the other, as in a frame. */
export function replyWith(answer: Reply["answer"], blocks: readonly Filled[]): Reply {
  const all = new Uint16Array(blocks.reduce((sum, { levels }) => sum + levels.length, 0));
  let from = 0;
  for (const { levels } of blocks) {
    all.set(levels, from);
    from += levels.length;
  }
  return { answer, buffer: all.buffer, offset: 0 };
}

export function plainReply(answer: Reply["answer"]): Reply {
  return { answer, buffer: new ArrayBuffer(0), offset: 0 };
}

export async function answerValues(data: NetData, question: Question<"net_values">): Promise<Reply> {
  const blocks = await Promise.all(
    question.layers.map(async (layer): Promise<Filled> => {
      const found = data.find(layer, question.variable, question);
      if (typeof found === "string") return unfilled(layer, found);
      const numbers = await data.read(found);
      return filled(layer, numbers.step, numbers);
    }),
  );
  const answer: NetValuesAnswer = { type: "net_values", id: 0, step: question.step, blocks: blocks.map(({ block }) => block) };
  return replyWith(answer, blocks);
}

// --- one unit ------------------------------------------------------------------------------------

export async function answerUnit(data: NetData, question: Question<"net_unit">): Promise<Reply> {
  const layer = data.layerWith(question.layer, question.unit);
  const [values, steps]: [Record<string, number | string>, Record<string, number>] = [{}, {}];
  for (const variable of layer.variables) {
    const numbers = await data.values(layer.name, variable, question);
    const value = numbers === null ? null : numberAt(numbers, question.unit);
    if (numbers === null || value === null) continue;
    values[variable] = said(value, numbers);
    steps[variable] = numbers.step;
  }
  return plainReply({ type: "net_unit", id: 0, values, steps });
}

/** Exactly where that is known; a value that was rounded comes as a text that says so. */
function said(value: number, { exact, low, high }: Numbers): number | string {
  if (!Number.isFinite(value)) return String(value);
  const width = (high - low) / LEVELS;
  if (exact !== null || width === 0) return value;
  // No digit that is smaller than the step from level to level; and less than half a step may be nothing at all.
  const digits = Math.floor(Math.log10(Math.abs(value))) - Math.floor(Math.log10(width)) + 1;
  const rounded = Math.abs(value) <= width / 2 ? 0 : Number(value.toPrecision(Math.max(1, Math.min(7, digits))));
  return `≈ ${formatExact(rounded, "f8")}`;
}

/** For each variable its steps, then its values, all of eight bytes. A record counts once. */
export async function answerUnitSeries(data: NetData, question: Question<"net_unit_series">): Promise<Reply> {
  const layer = data.layerWith(question.layer, question.unit);
  const [variables, counts, columns]: [string[], number[], number[][]] = [[], [], []];
  for (const variable of layer.variables) {
    const found = new Map<number, number>();
    for (const piece of evenly(piecesOf(data, variable, question), question.most)) {
      const numbers = await data.read(piece);
      const value = numberAt(numbers, question.unit);
      if (value !== null) found.set(numbers.step, value);
    }
    if (found.size === 0) continue;
    variables.push(variable);
    counts.push(found.size);
    columns.push([...found.keys()], [...found.values()]);
  }
  const { buffer } = Float64Array.from(columns.flat());
  return { answer: { type: "net_unit_series", id: 0, variables, counts }, buffer, offset: 0 };
}

function piecesOf(data: NetData, variable: string, { layer, item, low, high }: Question<"net_unit_series">): number[] {
  const found = new Set<number>();
  for (const step of data.steps) {
    const piece = data.find(layer, variable, { step, item });
    if (typeof piece !== "number") continue;
    const recorded = data.stepOf(piece);
    if (recorded >= (low ?? -Infinity) && recorded <= (high ?? Infinity)) found.add(piece);
  }
  return [...found];
}

/** So many at most, the first and the last among them. */
function evenly(all: readonly number[], most: number): readonly number[] {
  if (all.length <= most) return all;
  return Array.from({ length: most }, (_, at) => all[Math.round((at * (all.length - 1)) / Math.max(1, most - 1))]!);
}

// --- over the last moments -----------------------------------------------------------------------

export async function answerRaster(data: NetData, question: Question<"net_raster">): Promise<Reply> {
  const steps = data.steps.filter((step) => step <= question.step).slice(-question.num_moments);
  const blocks: Filled[] = [];
  for (const layer of question.layers) blocks.push(await rasterBlock(data, question, layer, steps));
  return replyWith({ type: "net_raster", id: 0, steps: [...steps], blocks: blocks.map(({ block }) => block) }, blocks);
}

/** All moments on one scale. */
async function rasterBlock(
  data: NetData,
  { variable, item }: Question<"net_raster">,
  layer: string,
  steps: readonly number[],
): Promise<Filled> {
  const last = data.find(layer, variable, { step: steps.at(-1) ?? 0, item });
  const numUnits = data.layer(layer)?.grid.num_units ?? 0;
  if (typeof last === "string") return unfilled(layer, last);
  const values = new Float64Array(steps.length * numUnits);
  const isThere = new Uint8Array(values.length);
  for (const [row, step] of steps.entries()) {
    const numbers = await data.values(layer, variable, { step, item });
    for (let unit = 0; numbers !== null && unit < numUnits; unit++) {
      const value = numberAt(numbers, unit);
      if (value === null) continue;
      values[row * numUnits + unit] = value;
      isThere[row * numUnits + unit] = 1;
    }
  }
  return filled(layer, data.stepOf(last), levelsOf(values, isThere), steps.length);
}
