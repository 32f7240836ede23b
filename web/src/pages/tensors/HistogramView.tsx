/** A histogram that was logged as such, at one step or at two: its bins may have any width. */
import { useEffect, useState } from "preact/hooks";
import { formatCount, formatNumberOf, formatValue } from "../../data/format";
import { fileName, save, toCsv } from "../../data/save-file";
import * as page from "../../data/store";
import { type Figure, figureOf, withSign } from "../../plot/over-time";
import { Section, TensorSkeleton } from "../../plot/tensor/Facts";
import { autoScale, stepClass } from "../../ui/colour-scale";
import { useWidth } from "../../ui/useWidth";
import type { RecordListing } from "../../wire";
import * as store from "./store";

interface Props {
  runId: string;
  record: RecordListing;
  other: RecordListing | null;
}

export function HistogramView({ runId, record, other }: Props) {
  const a = useBins(runId, record);
  const b = useBins(runId, other);
  const span = filledSpan([a.bins, b.bins].filter((one) => one !== null).map(({ drawn }) => drawn));
  if (a.bins === null)
    return a.fault === "" ? <TensorSkeleton /> : <p class="hint tensor-fault">{a.fault}</p>;
  return (
    <div class={other === null ? "tensor-columns one" : "tensor-columns two"}>
      <Step name={other === null ? "" : "A"} record={record} bins={a.bins} span={span} />
      {other !== null && b.bins !== null && (
        <Step name="B" record={other} bins={b.bins} span={span} />
      )}
    </div>
  );
}

/** Bins as they were logged, and as they are drawn. */
interface Found {
  readonly logged: Bins;
  readonly drawn: Bins;
}

interface Held {
  readonly bins: Found | null;
  readonly fault: string;
}

/** The bins of a record; those before stay until they have come. */
function useBins(runId: string, record: RecordListing | null): Held {
  const [held, setHeld] = useState<Held>({ bins: null, fault: "" });
  const key = record === null ? "" : `${runId} ${record.record}`;
  useEffect(() => {
    const source = page.source.peek();
    if (record === null || source === null) return undefined;
    let isWanted = true;
    const failed = (reason: unknown): void => {
      if (isWanted) setHeld({ bins: null, fault: reason instanceof Error ? reason.message : String(reason) });
    };
    source
      .ask({ type: "record", run_id: runId, record: record.record })
      .then(({ answer, buffer, offset }) => {
        if (!isWanted || answer.type !== "record" || answer.entry.head.kind !== "histogram") return;
        const { num_bins, min, max } = answer.entry.head;
        const logged = readBins(num_bins, buffer, offset);
        setHeld({ bins: { logged, drawn: drawnIn(logged, min, max) }, fault: "" });
      })
      .catch(failed);
    return () => {
      isWanted = false;
    };
  }, [key]);
  return held;
}

interface StepProps {
  name: string;
  record: RecordListing;
  bins: Found;
  span: Span;
}

function Step({ name, record, bins: { logged, drawn }, span }: StepProps) {
  const { bars, isEven } = barsOf(drawn, span);
  const figure = figureOf(record);
  const take = (): void =>
    save(
      fileName([store.chosen.value?.name ?? "histogram", "step", record.step], "csv"),
      toCsv([
        ["from", "to", "count"],
        ...Array.from(logged.counts, (count, at) => [logged.edges[at]!, logged.edges[at + 1]!, count]),
      ]),
      "text/csv",
    );
  return (
    <div>
      <Section
        title={name === "" ? "Histogram" : `Histogram ${name}`}
        remark={`step ${formatCount(record.step)} · ${formatNumberOf(logged.counts.length, "bin")}${
          isEven ? `, drawn as ${bars.length} of one width` : ""
        }`}
      >
        <Drawn bars={bars} isEven={isEven} span={span} />
      </Section>
      {figure !== null && <Figures figure={figure} />}
      <div class="section downloads row">
        <span class="grow muted fs-1">Edges and counts</span>
        <button class="btn sm" onClick={take}>
          CSV
        </button>
      </div>
    </div>
  );
}

function Figures({ figure }: { figure: Figure }) {
  const value = (name: "mean" | "std" | "min" | "max"): string => {
    const one = figure[name];
    return one === null ? "none" : withSign(figure, name, formatValue(one));
  };
  return (
    <div class="section figures">
      <dl class="readout cols" aria-label="Figures">
        <dt>mean</dt>
        <dd data-figure="mean">{value("mean")}</dd>
        <dt>std</dt>
        <dd data-figure="std">{value("std")}</dd>
        <dt>min</dt>
        <dd data-figure="min">{value("min")}</dd>
        <dt>max</dt>
        <dd data-figure="max">{value("max")}</dd>
        <dt>NaN / Inf</dt>
        <dd data-figure="nonfinite" class={figure.numNan + figure.numInf > 0 ? "bad" : ""}>
          {formatCount(figure.numNan)} / {formatCount(figure.numInf)}
        </dd>
      </dl>
    </div>
  );
}

const HEIGHT = 180;

interface DrawnProps {
  bars: readonly Bar[];
  isEven: boolean;
  span: Span;
}

function Drawn({ bars, isEven, span }: DrawnProps) {
  const [box, width] = useWidth<HTMLDivElement>(480);
  const { low, high } = span;
  const scale = autoScale({ min: low, max: high });
  const x = (value: number): number => shareAt(span, value) * width;
  return (
    <div ref={box}>
      <svg
        class="chart wide-bars"
        width={width}
        height={HEIGHT + 18}
        role="img"
        aria-label={`Histogram from ${formatValue(low)} to ${formatValue(high)} in ${bars.length} bins`}
      >
        {bars
          .filter(({ count }) => count > 0)
          .map(({ from, to, count, height }, at) => (
            <rect
              key={at}
              class={stepClass(scale, from / 2 + to / 2)}
              x={x(from)}
              y={HEIGHT - heightOf(height)}
              width={Math.max(0.5, x(to) - x(from) - 0.5)}
              height={heightOf(height)}
            >
              <title>{`${formatValue(from)} to ${formatValue(to)}: ${saidCount(count, isEven)}`}</title>
            </rect>
          ))}
        <path class="base" d={`M0 ${HEIGHT + 0.5}H${width}`} />
        {low < 0 && high > 0 && <path class="cursor" d={`M${x(0)} 4V${HEIGHT}`} />}
        <text x="0" y={HEIGHT + 14}>
          {formatValue(low, 3)}
        </text>
        <text class="e" x={width} y={HEIGHT + 14}>
          {formatValue(high, 3)}
        </text>
      </svg>
    </div>
  );
}

/** What is there at all is seen. */
function heightOf(share: number): number {
  return Math.max(1, share * (HEIGHT - 4));
}

function saidCount(count: number, isShared: boolean): string {
  return isShared && !Number.isInteger(count) ? `about ${formatValue(count, 3)}` : formatValue(count);
}

// --- The bytes of a histogram, rising edges and then counts, and the bars that are drawn of them.

export interface Bins {
  /** One more than there are bins. */
  readonly edges: Float64Array;
  readonly counts: Float64Array;
}

interface Span {
  readonly low: number;
  readonly high: number;
}

interface Bar {
  readonly from: number;
  readonly to: number;
  readonly count: number;
  /** From 0 to 1: how close together the values are, against the fullest bar. */
  readonly height: number;
}

interface Bars {
  readonly bars: readonly Bar[];
  /** The counts were shared out to bins of one width, and are not exact. */
  readonly isEven: boolean;
}

const NUM_EVEN = 100;
/** Bins are drawn as they were logged where none is narrower than this share of the whole. */
const LEAST_SHARE = 1 / 250;
const LARGEST = Number.MAX_VALUE;

/** Throws a sentence where the bytes are not what the head says. */
export function readBins(numBins: number, buffer: ArrayBuffer, offset: number): Bins {
  if (buffer.byteLength - offset !== 8 * (2 * numBins + 1))
    throw new Error(`The record is damaged: ${numBins} bins do not make ${buffer.byteLength - offset} bytes.`);
  const edges = new Float64Array(buffer, offset, numBins + 1);
  return { edges, counts: new Float64Array(buffer, offset + 8 * (numBins + 1), numBins) };
}

/** The same bins, their ends drawn in to the lowest and the highest value: the outer bins of many logs reach far. */
export function drawnIn({ edges, counts }: Bins, min: number | null, max: number | null): Bins {
  const [low, high] = [min ?? -LARGEST, max ?? LARGEST];
  return { edges: low <= high ? edges.map((edge) => Math.min(high, Math.max(low, edge))) : edges, counts };
}

/** From the lowest to the highest bin that holds something, of all of them; never without extent. */
export function filledSpan(all: readonly Bins[]): Span {
  let [low, high] = [Infinity, -Infinity];
  for (const { edges, counts } of all) {
    const first = counts.findIndex((count) => count > 0);
    if (first < 0) continue;
    low = Math.min(low, edges[first]!);
    high = Math.max(high, edges[counts.findLastIndex((count) => count > 0) + 1]!);
  }
  if (low > high) return { low: 0, high: 1 };
  if (low < high) return { low, high };
  // So that a large number has room on both sides, too.
  const half = Math.max(0.5, Math.abs(low) * 2 ** -40);
  return { low: Math.max(low - half, -LARGEST), high: Math.min(high + half, LARGEST) };
}

/** Where a value lies between the ends, from 0 to 1. Halved: the distance between them may be no number. */
function shareAt({ low, high }: Span, value: number): number {
  return (value / 2 - low / 2) / (high / 2 - low / 2);
}

/**
 * The bars of a histogram. Bins that are too narrow to be seen, as those of a logarithmic row of edges near nought are,
 * would take the whole height and leave nothing for the others: these are brought to bins of one width.
 */
export function barsOf(bins: Bins, span: Span): Bars {
  const isSeen = (count: number, at: number): boolean =>
    count <= 0 || shareAt(span, bins.edges[at + 1]!) - shareAt(span, bins.edges[at]!) >= LEAST_SHARE;
  if (bins.counts.length <= 1 / LEAST_SHARE && bins.counts.every(isSeen)) return { bars: heightened(bins, span), isEven: false };
  return { bars: heightened(evenBins(bins, span, NUM_EVEN), span), isEven: true };
}

/** Counts on bins of one width. What a bin holds is shared out by how much of it lies in each of the new ones. */
export function evenBins({ edges, counts }: Bins, span: Span, numBins: number): Bins {
  const even = new Float64Array(numBins);
  const place = (value: number): number => Math.min(numBins, Math.max(0, shareAt(span, value) * numBins));
  counts.forEach((count, at) => {
    if (!(count > 0)) return;
    const [from, to] = [place(edges[at]!), place(edges[at + 1]!)];
    const [first, last] = [Math.min(numBins - 1, Math.floor(from)), Math.min(numBins - 1, Math.ceil(to) - 1)];
    // A bin in a single new one, also one without width, stays whole.
    if (last <= first) even[first]! += count;
    else for (let bin = first; bin <= last; bin++) even[bin]! += count * ((Math.min(to, bin + 1) - Math.max(from, bin)) / (to - from));
  });
  const edge = (share: number): number => span.low * (1 - share) + span.high * share;
  return { edges: Float64Array.from({ length: numBins + 1 }, (_, at) => edge(at / numBins)), counts: even };
}

/** The height is the density, so that wide bins do not look fuller than they are. */
function heightened({ edges, counts }: Bins, span: Span): Bar[] {
  const density = counts.map((count, at) =>
    count > 0 ? count / (shareAt(span, edges[at + 1]!) - shareAt(span, edges[at]!)) : 0,
  );
  const most = density.reduce((one, other) => Math.max(one, other), 0);
  return Array.from(counts, (count, at) => ({
    from: edges[at]!,
    to: edges[at + 1]!,
    count,
    height: most > 0 ? density[at]! / most : 0,
  }));
}
