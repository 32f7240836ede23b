/** A histogram that was logged as such, at one step or at two: its bins may have any width. */
import { useEffect, useState } from "preact/hooks";
import { toCsv } from "../files/csv";
import { fileName, save } from "../files/saving";
import { formatCount, formatNumberOf, formatValue } from "../format";
import { Section } from "../inspector/Section";
import { TensorSkeleton } from "../inspector/TensorSkeleton";
import { useWidth } from "../measuring/useWidth";
import * as page from "../store";
import { autoScale, stepClass } from "../tensor/colour";
import type { RecordListing } from "../wire";
import { barsOf, drawnIn, filledSpan, readBins, shareAt, type Bar, type Bins, type Span } from "./bins";
import { figureOf, withSign, type Figure } from "./overtime";
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
