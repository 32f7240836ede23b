/** A, B and what is between them, side by side. */
import { useState } from "preact/hooks";
import { formatCount, formatNumberOf, formatValue } from "../../data/format";
import type { TensorValues, Values } from "../../data/source";
import { isWhole } from "../../data/tensor-window";
import { extentOf } from "../../plot/scale";
import { TensorSkeleton } from "../../plot/tensor/Facts";
import { FIRST } from "../../plot/tensor/Picture";
import { TensorColumn } from "../../plot/tensor/TensorColumn";
import type { AskableTensor } from "../../plot/tensor/subjects";
import type { Span } from "../../plot/ticks";
import { IconButton } from "../../ui/IconButton";
import { autoScale, type Scale } from "../../ui/colour-scale";
import type { RecordListing, TensorView } from "../../wire";
import { Downloads } from "./Downloads";
import * as store from "./store";

interface Props {
  a: RecordListing;
  b: RecordListing;
  valuesA: TensorValues;
  valuesB: TensorValues;
}

/** Nobody is asked: all that is compared is here. */
const HERE: AskableTensor = {
  key: "here",
  ask: () => Promise.resolve({ missing: "This value is not among those that were compared." }),
};

/** Where one of the columns is moved, all are. */
export function CompareColumns({ a, b, valuesA, valuesB }: Props) {
  const [start, onStart] = useState(FIRST);
  const both = store.useScale(store.widest([valuesA.view, valuesB.view]));
  const [fixed, setFixed] = useState<Scale | null>(null);
  const difference = differenceOf(valuesA, valuesB);
  const shared = { subject: HERE, start, onStart, canMove: false };
  return (
    <div class="tensor-columns three">
      <div>
        <div class="column-title">
          <StepTitle name="A" record={a} />
        </div>
        <TensorColumn base={valuesA} {...both} {...shared} />
      </div>
      <div>
        <div class="column-title">
          <OtherStep record={b} />
        </div>
        <TensorColumn base={valuesB} {...both} {...shared} />
      </div>
      {difference === null ? (
        <TensorSkeleton />
      ) : (
        <div>
          <div class="column-title">
            <b>A − B</b>
            <Agreement difference={difference} />
          </div>
          <TensorColumn
            base={difference.between}
            scale={fixed ?? differenceScale(difference)}
            isAuto={fixed === null}
            onScale={setFixed}
            {...shared}
          />
          <Downloads subject={null} base={difference.between} suffix={`-minus-${b.step}`} />
        </div>
      )}
    </div>
  );
}

/** Around zero, also where all differences have one sign. */
function differenceScale({ largest, between }: Difference): Scale {
  return largest === null || largest === 0
    ? autoScale(between.view)
    : { map: "div", low: -largest, high: largest };
}

function StepTitle({ name, record }: { name: string; record: RecordListing }) {
  return (
    <span>
      <b>{name}</b> <span class="muted">step {formatCount(record.step)}</span>
    </span>
  );
}

/** B has steps of its own: the time bar is that of A. */
function OtherStep({ record }: { record: RecordListing }) {
  const at = store.otherAt.value ?? 0;
  const last = store.records.value.length - 1;
  return (
    <span class="row">
      <StepTitle name="B" record={record} />
      <span class="group">
        <IconButton icon="left" label="B one step back" disabled={at <= 0} onClick={() => store.compareWith(at - 1)} />
        <IconButton icon="right" label="B one step on" disabled={at >= last} onClick={() => store.compareWith(at + 1)} />
      </span>
      <input
        class="grow"
        type="range"
        aria-label="Step of B"
        aria-valuetext={`step ${record.step}`}
        min={0}
        max={last}
        value={at}
        onInput={(event) => store.compareWith(Number(event.currentTarget.value))}
      />
    </span>
  );
}

/** How far two tensors are from each other, in three numbers. */
function Agreement({ difference }: { difference: Difference }) {
  const { largest, correlation, numCompared, between } = difference;
  const { shape, window } = between.view;
  const part = isWhole(shape, window) ? "" : ` of ${formatCount(shape.reduce((a, b) => a * b, 1))}`;
  return (
    <dl
      class="agreement"
      aria-label="Agreement of A and B"
      title={`${formatNumberOf(numCompared, "pair")} of finite values compared${part}`}
    >
      <dt>largest</dt>
      <dd data-figure="largest">{largest === null ? "none" : formatValue(largest)}</dd>
      <dt>correlation</dt>
      <dd data-figure="correlation">{correlation === null ? "none" : formatValue(correlation)}</dd>
      <dt>values</dt>
      <dd data-figure="compared">
        {formatCount(numCompared)}
        {part}
      </dd>
    </dl>
  );
}

// --- Two tensors of one shape against each other: what is between them, value by value.

interface Difference {
  readonly between: TensorValues;
  /** Null where no pair of finite values is there. */
  readonly largest: number | null;
  /** Pearson's; null where one side does not vary. */
  readonly correlation: number | null;
  readonly numCompared: number;
}

const NUM_BINS = 64;

/** Null where the windows do not hold the same places. */
export function differenceOf(a: TensorValues, b: TensorValues): Difference | null {
  const isSame =
    a.view.shape.join() === b.view.shape.join() &&
    JSON.stringify(a.view.window) === JSON.stringify(b.view.window) &&
    a.values.length === b.values.length;
  if (!isSame) return null;
  const values = new Float64Array(a.values.length);
  for (let at = 0; at < values.length; at++) values[at] = a.values[at]! - b.values[at]!;
  const view = viewOf(values, a.view);
  const largest = view.min === null || view.max === null ? null : Math.max(Math.abs(view.min), Math.abs(view.max));
  return { between: { view, values }, largest, ...correlationOf(a.values, b.values) };
}

/** Of the pairs of which both are finite. */
function correlationOf(a: Values, b: Values): { correlation: number | null; numCompared: number } {
  let [count, meanA, meanB] = [0, 0, 0];
  const isPair = (at: number): boolean => Number.isFinite(a[at]) && Number.isFinite(b[at]);
  for (let at = 0; at < a.length; at++) {
    if (!isPair(at)) continue;
    count += 1;
    meanA += a[at]!;
    meanB += b[at]!;
  }
  [meanA, meanB] = [meanA / Math.max(1, count), meanB / Math.max(1, count)];
  let [squareA, squareB, both] = [0, 0, 0];
  for (let at = 0; at < a.length; at++) {
    if (!isPair(at)) continue;
    const [left, right] = [a[at]! - meanA, b[at]! - meanB];
    squareA += left * left;
    squareB += right * right;
    both += left * right;
  }
  const scale = Math.sqrt(squareA) * Math.sqrt(squareB);
  return { correlation: scale > 0 ? Math.max(-1, Math.min(1, both / scale)) : null, numCompared: count };
}

/** The figures of values that were made here, in the form in which those of a tensor come. */
function viewOf(values: Float64Array, like: TensorView): TensorView {
  const span = extentOf([values]);
  let [count, sum, numZeros, numNan] = [0, 0, 0, 0];
  for (const value of values) {
    if (Number.isNaN(value)) numNan += 1;
    if (!Number.isFinite(value)) continue;
    count += 1;
    sum += value;
    if (value === 0) numZeros += 1;
  }
  const mean = sum / Math.max(1, count);
  let squares = 0;
  for (const value of values) if (Number.isFinite(value)) squares += (value - mean) ** 2;
  return {
    ...like,
    num_elements: values.length,
    ...(span === null ? { mean: null, std: null } : { mean, std: Math.sqrt(squares / count) }),
    min: span?.low ?? null,
    max: span?.high ?? null,
    num_zeros: numZeros,
    num_nan: numNan,
    num_inf: values.length - count - numNan,
    encoding: "f8",
    note: "",
    ...histogramOf(values, span),
  };
}

function histogramOf(
  values: Float64Array,
  span: Span | null,
): Pick<TensorView, "histogram" | "histogram_low" | "histogram_high"> {
  if (span === null) return { histogram: [], histogram_low: 0, histogram_high: 0 };
  const [low, high] = span.low < span.high ? [span.low, span.high] : [span.low - 0.5, span.low + 0.5];
  const histogram = new Array<number>(NUM_BINS).fill(0);
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    histogram[Math.min(NUM_BINS - 1, Math.floor(((value - low) / (high - low)) * NUM_BINS))]! += 1;
  }
  return { histogram, histogram_low: low, histogram_high: high };
}
