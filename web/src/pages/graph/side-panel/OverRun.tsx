/** What an op did over the whole run that its pass belongs to: its figures, and the series named after it. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { formatCount, formatNumberOf } from "../../../data/format";
import { distinct } from "../../../data/pass/node-words";
import { askOf, follow } from "../../../data/requests";
import { addressOf } from "../../../data/route";
import { colourOf, index as runIndex, indexWith, isChosen, runsById, type RunSeries } from "../../../data/runs";
import * as store from "../../../data/store";
import { type Asked, useAsked } from "../../../data/useAsked";
import { LineChart } from "../../../plot/SmallChart";
import type { Line } from "../../../plot/lines";
import { Section } from "../../../plot/tensor/Facts";
import { useSeries } from "../../../plot/scalars/Plot";
import { isLive } from "../../../ui/run-states";
import type { OpSeriesAnswer, PassDocument, PassListing, SeriesListing } from "../../../wire";
import type { OpPlace } from "./SidePanel";

const HEIGHT = 88;
const LOOK_AGAIN_MS = 3000;

export function OverRun({ document, index }: OpPlace) {
  const passes = store.source.value?.passes.value ?? [];
  const pass = passes.find((one) => one.id === store.passId.value);
  if (pass === undefined || pass.run_id === "") return null;
  return (
    <Section title="Over the run" remark={runsById.value.get(pass.run_id)?.name}>
      <OpFigures key={index} pass={pass} index={index} />
      <RunSeriesPart runId={pass.run_id} document={document} index={index} />
    </Section>
  );
}

function OpFigures({ pass, index }: { pass: PassListing; index: number }) {
  usePassesWhileLive(pass.run_id);
  const { value: answer, problem } = useOpSeries(pass, index);
  if (problem !== "") return <p class="muted fs-2">{problem}</p>;
  if (answer === null) return null;
  const charts = figureCharts(answer);
  if (charts.length === 0) return <p class="muted fs-2">No figures of this op were kept with the passes.</p>;
  return (
    <>
      <p class="muted fs-1">
        {answer.steps.length < 2
          ? "One pass so far: lines come with the next."
          : `Output of this op in ${formatNumberOf(answer.steps.length, "pass", "passes")}`}
      </p>
      {charts.map(({ title, lines }) => (
        <SmallFigure key={title} title={title}>
          <LineChart lines={lines} height={HEIGHT} mark={pass.step} summary={summaryOf(title, answer)} />
        </SmallFigure>
      ))}
    </>
  );
}

function SmallFigure({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <figure class="small-chart">
      <figcaption class="muted fs-1 clip" title={title}>
        {title}
      </figcaption>
      {children}
    </figure>
  );
}

/** Passes that the run is given meanwhile are heard of. */
function usePassesWhileLive(runId: string): void {
  const run = runsById.value.get(runId);
  const isOn = run !== undefined && isLive(run);
  useEffect(() => {
    if (!isOn) return undefined;
    const timer = setInterval(() => store.source.peek()?.refreshPasses(), LOOK_AGAIN_MS);
    return () => clearInterval(timer);
  }, [isOn]);
}

/** Asked again when the run has more passes. */
function useOpSeries({ id: pass_id, run_id }: PassListing, op: number): Asked<OpSeriesAnswer> {
  const numPasses = (store.source.value?.passes.value ?? []).filter((pass) => pass.run_id === run_id).length;
  const ask = async (): Promise<OpSeriesAnswer> => (await askOf({ type: "op_series", pass_id, op }, "op_series")).answer;
  return useAsked({ key: `${pass_id} ${op}`, version: String(numPasses), ask });
}

function summaryOf(title: string, { steps }: OpSeriesAnswer): string {
  const [first, last] = [steps[0], steps.at(-1)];
  if (first === undefined || last === undefined) return title;
  return `${title} of the output, from step ${formatCount(first)} to ${formatCount(last)}`;
}

// --- The figures of an op over the passes of its run, as lines for small charts.

interface FigureChart {
  readonly title: string;
  readonly lines: readonly Line[];
}

const COLOUR = "var(--accent)";

/** One chart for each figure that is known in some pass: mean with its limits, spread, zeros, gradients. */
export function figureCharts(answer: OpSeriesAnswer): readonly FigureChart[] {
  const column = (name: string): number[] | null => {
    const at = answer.figures.indexOf(name);
    if (at < 0) return null;
    const values = answer.rows.map((row) => row[at] ?? NaN);
    return values.some(Number.isFinite) ? values : null;
  };
  const chart = (title: string, name: string, lowest = "", highest = ""): FigureChart | null => {
    const [y, low, high] = [column(name), column(lowest), column(highest)];
    if (y === null) return null;
    const band = low === null || high === null ? {} : { low, high };
    return { title, lines: [{ name: title, colour: COLOUR, x: answer.steps, y, end: "dot", ...band }] };
  };
  const nan = column("nan");
  return [
    chart("mean, from min to max", "mean", "min", "max"),
    chart("std", "std"),
    chart("share of zeros", "zeros"),
    // As a rule there are none, which needs no chart.
    nan?.some((count) => count > 0) === true ? chart("NaN", "nan") : null,
    chart("gradient: mean, from min to max", "grad_mean", "grad_min", "grad_max"),
    chart("gradient: std", "grad_std"),
    chart("gradient: share of zeros", "grad_zeros"),
  ].filter((one) => one !== null);
}

const MAX_CHARTS = 8;
const MAX_LINKS = 12;
const SERIES_HEIGHT = 72;

/** Series of the run that are named after an op's module or parameters: numbers as charts, all else as links. */
function RunSeriesPart({ runId, document, index }: { runId: string; document: PassDocument; index: number }) {
  const series = useRunIndex(runId);
  const addresses = addressesOf(document, index);
  const [address] = addresses;
  const found = seriesNamedAfter(series.values(), addresses);
  const scalars = found.filter(({ kind }) => kind === "scalar").slice(0, MAX_CHARTS);
  const others = found.filter(({ kind }) => kind === "tensor" || kind === "histogram");
  const known = useSeries(scalars.map(({ name }) => ({ run_id: runId, name })));
  return (
    <>
      {scalars.map(({ name, count }) => {
        const { x, mean: y } = known.of(runId, name);
        return (
          <SmallFigure key={name} title={name}>
            <LineChart
              lines={[{ name, colour: colourOf(runId), x, y, end: "dot" }]}
              height={SERIES_HEIGHT}
              summary={`${name}, ${formatNumberOf(count, "point")}`}
            />
          </SmallFigure>
        );
      })}
      {[...series.values()].some(({ kind }) => kind === "watch") && address !== undefined && (
        <p class="fs-2">
          <a class="link" href={addressOf("layers", { runs: runId, run: runId, find: address })}>
            Watched rows of {address}
          </a>
        </p>
      )}
      {others.length > 0 && (
        <ul class="series-links">
          {others.slice(0, MAX_LINKS).map((one) => (
            <li key={`${one.kind} ${one.name}`}>
              <a class="link" href={linkTo(runId, one)}>
                {one.name}
              </a>
              <span class="muted">
                {one.kind}, {formatCount(one.count)} ×
              </span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** The series of one run, also where it is not among the chosen ones. */
const NO_SERIES: RunSeries = new Map();

function useRunIndex(runId: string): RunSeries {
  const source = store.source.value;
  const isFollowed = isChosen(runId);
  const [own, setOwn] = useState(NO_SERIES);
  useEffect(() => {
    if (source === null || isFollowed || runId === "") return undefined;
    let known: ReadonlyMap<string, RunSeries> = new Map();
    return follow(source, { type: "index", run_ids: [runId] }, ({ answer }) => {
      known = indexWith(known, answer);
      setOwn(known.get(runId) ?? NO_SERIES);
    });
  }, [source, runId, isFollowed]);
  return isFollowed ? (runIndex.value.get(runId) ?? NO_SERIES) : own;
}

/** The page of tensors shows distributions, too. */
function linkTo(runId: string, { kind, name }: SeriesListing): string {
  return addressOf("tensors", { runs: runId, tensor: name, kind: kind === "histogram" ? kind : null });
}

/** The addresses that an op goes by: its module's, and those of its parameters. The model itself has none. */
export function addressesOf(document: PassDocument, opIndex: number): readonly string[] {
  const op = document.ops[opIndex];
  if (op === undefined) return [];
  const params = op.params.map((param) => document.params[param]?.address ?? "");
  return distinct([moduleOf(document, op.scope), ...params, op.kind === "buffer" ? op.name : ""]);
}

/** Ops of a function that was opened up belong to the module around it. */
function moduleOf(document: PassDocument, scope: number): string {
  for (let at = scope; at >= 0; at = document.scopes[at]?.parent ?? -1) {
    const address = document.scopes[at]?.address;
    if (typeof address === "string") return address;
  }
  return "";
}

/** `features.0` owns `features.0`, `features.0.Act` and `norms/features.0.weight`, and nothing of `features.01`. */
export function isNamedAfter(name: string, address: string): boolean {
  for (let from = name.indexOf(address); from >= 0; from = name.indexOf(address, from + 1)) {
    const [before, after] = [name[from - 1], name[from + address.length]];
    const beginsHere = before === undefined || before === "/";
    if (beginsHere && (after === undefined || "./:".includes(after))) return true;
  }
  return false;
}

/** In the order of the alphabet. */
export function seriesNamedAfter(
  series: Iterable<SeriesListing>,
  addresses: readonly string[],
): readonly SeriesListing[] {
  return [...series]
    .filter(({ name }) => addresses.some((address) => isNamedAfter(name, address)))
    .sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
}
