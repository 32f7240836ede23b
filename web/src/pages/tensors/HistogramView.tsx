/** A histogram that was logged as such, at one step or at two: its bins may have any width. */
import { formatCount, formatNumberOf, formatValue } from "../../data/format";
import { askRecord, floatsOf, recordKey } from "../../data/requests";
import { fileName, save, toCsv } from "../../data/save-file";
import { useAsked } from "../../data/useAsked";
import { figureOf, withSign } from "../../plot/over-time";
import { Figures, Section, TensorSkeleton } from "../../plot/tensor/Facts";
import { type Bar, Bars } from "../../plot/tensor/Histogram";
import type { Span } from "../../plot/ticks";
import { autoScale } from "../../ui/colour-scale";
import type { RecordListing } from "../../wire";
import * as store from "./store";

export function HistogramView({ record, other }: { record: RecordListing; other: RecordListing | null }) {
  const a = useBins(record);
  const b = useBins(other);
  const span = filledSpan([a.value, b.value].filter((one) => one !== null).map(({ drawn }) => drawn));
  if (a.value === null)
    return a.problem === "" ? <TensorSkeleton /> : <p class="hint tensor-fault">{a.problem}</p>;
  return (
    <div class={other === null ? "tensor-columns one" : "tensor-columns two"}>
      <Step name={other === null ? "" : "A"} record={record} bins={a.value} span={span} />
      {other !== null && b.value !== null && <Step name="B" record={other} bins={b.value} span={span} />}
    </div>
  );
}

/** Bins as they were logged, and as they are drawn. */
interface Found {
  readonly logged: Bins;
  readonly drawn: Bins;
}

/** The bins of a record; those before stay until they have come. */
function useBins(record: RecordListing | null) {
  const runId = store.place.value?.runId ?? "";
  const ask = async (): Promise<Found> => {
    const { entry, bytes } = await askRecord(runId, record!);
    const head = entry.head as Extract<typeof entry.head, { kind: "histogram" }>;
    const logged = binsOf(floatsOf(bytes, 2 * head.num_bins + 1));
    return { logged, drawn: drawnIn(logged, head.min, head.max) };
  };
  return useAsked(record === null ? null : { key: recordKey(runId, record), version: "", ask });
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
  const asDrawn = isEven ? `, drawn as ${bars.length} of one width` : "";
  const take = (): void => {
    const rows = Array.from(logged.counts, (count, at) => [logged.edges[at]!, logged.edges[at + 1]!, count]);
    const name = fileName([store.chosen.value?.name ?? "histogram", "step", record.step], "csv");
    save(name, toCsv([["from", "to", "count"], ...rows]), "text/csv");
  };
  return (
    <div>
      <Section
        title={name === "" ? "Histogram" : `Histogram ${name}`}
        remark={`step ${formatCount(record.step)} · ${formatNumberOf(logged.counts.length, "bin")}${asDrawn}`}
      >
        <Bars
          bars={bars}
          span={span}
          scale={autoScale({ min: span.low, max: span.high })}
          height={180}
          isWide
          label={`Histogram from ${formatValue(span.low)} to ${formatValue(span.high)} in ${bars.length} bins`}
          said={(count) => saidCount(count, isEven)}
        />
      </Section>
      {figure !== null && (
        <Figures of={figure} numNan={figure.numNan} numInf={figure.numInf} withSign={(name, text) => withSign(figure, name, text)} />
      )}
      <div class="section downloads row">
        <span class="grow muted fs-1">Edges and counts</span>
        <button class="btn sm" onClick={take}>
          CSV
        </button>
      </div>
    </div>
  );
}

function saidCount(count: number, isShared: boolean): string {
  return isShared && !Number.isInteger(count) ? `about ${formatValue(count, 3)}` : formatValue(count);
}

// --- The numbers of a histogram, and the bars that are drawn of them.

export interface Bins {
  /** One more than there are bins. */
  readonly edges: Float64Array;
  readonly counts: Float64Array;
}

interface SharedOut {
  readonly bars: readonly Bar[];
  /** The counts were shared out to bins of one width, and are not exact. */
  readonly isEven: boolean;
}

const NUM_EVEN = 100;
/** Bins are drawn as they were logged where none is narrower than this share of the whole. */
const LEAST_SHARE = 1 / 250;
const LARGEST = Number.MAX_VALUE;

/** Of rising edges and then counts. */
export function binsOf(numbers: Float64Array): Bins {
  const numBins = (numbers.length - 1) / 2;
  return { edges: numbers.subarray(0, numBins + 1), counts: numbers.subarray(numBins + 1) };
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
export function barsOf(bins: Bins, span: Span): SharedOut {
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
