/** A, B and what is between them, side by side. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { formatCount, formatNumberOf, formatValue } from "../../data/format";
import type { TensorValues, Values } from "../../data/source";
import { isWhole, type Start } from "../../data/tensor-window";
import { TensorFigures, TensorSkeleton } from "../../plot/tensor/Facts";
import { Histogram } from "../../plot/tensor/Histogram";
import { Numbers } from "../../plot/tensor/Numbers";
import { Picture } from "../../plot/tensor/Picture";
import type { AskableTensor } from "../../plot/tensor/subjects";
import { Icon } from "../../ui/Icon";
import { autoScale, type Scale } from "../../ui/colour-scale";
import type { RecordListing, TensorView } from "../../wire";
import { Downloads } from "./Downloads";
import { useScale, widest } from "./records";
import * as store from "./store";

interface Props {
  a: RecordListing;
  b: RecordListing;
  valuesA: TensorValues;
  valuesB: TensorValues;
}

export function CompareColumns({ a, b, valuesA, valuesB }: Props) {
  const [start, setStart] = useState<Start>({ tiles: 0, rows: 0, columns: 0 });
  const both = useScale(widest([valuesA.view, valuesB.view]));
  const [fixed, setFixed] = useState<Scale | null>(null);
  const between = differenceOf(valuesA, valuesB);
  const shared = { start, onStart: setStart };
  const scaled = { scale: both.scale, isAuto: both.isAuto, onScale: both.setFixed };
  return (
    <div class="tensor-columns three">
      <CompareColumn title={<StepTitle name="A" record={a} />} base={valuesA} {...scaled} {...shared} />
      <CompareColumn title={<OtherStep record={b} />} base={valuesB} {...scaled} {...shared} />
      {between === null ? (
        <TensorSkeleton />
      ) : (
        <CompareColumn
          title={
            <>
              <b>A − B</b>
              <Agreement difference={between} />
            </>
          }
          base={between.between}
          scale={fixed ?? differenceScale(between)}
          isAuto={fixed === null}
          onScale={setFixed}
          {...shared}
        >
          <Downloads subject={null} base={between.between} suffix={`-minus-${b.step}`} />
        </CompareColumn>
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
  const count = store.records.value.length;
  return (
    <span class="row">
      <StepTitle name="B" record={record} />
      <span class="group">
        <button
          class="btn sm square"
          aria-label="B one step back"
          disabled={at <= 0}
          onClick={() => store.compareWith(at - 1)}
        >
          <Icon name="left" />
        </button>
        <button
          class="btn sm square"
          aria-label="B one step on"
          disabled={at >= count - 1}
          onClick={() => store.compareWith(at + 1)}
        >
          <Icon name="right" />
        </button>
      </span>
      <input
        class="grow"
        type="range"
        aria-label="Step of B"
        aria-valuetext={`step ${record.step}`}
        min={0}
        max={Math.max(0, count - 1)}
        value={at}
        onInput={(event) => store.compareWith(Number(event.currentTarget.value))}
      />
    </span>
  );
}

// --- How far two tensors are from each other, in three numbers.

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

// --- One of the columns of a comparison. Where one of them is moved, all are.

/** Nobody is asked: all that is compared is here. */
const HERE: AskableTensor = {
  key: "here",
  ask: () => Promise.resolve({ missing: "This value is not among those that were compared." }),
};

interface CompareColumnProps {
  title: ComponentChildren;
  base: TensorValues;
  scale: Scale;
  isAuto: boolean;
  onScale: (scale: Scale | null) => void;
  start: Start;
  onStart: (start: Start | ((now: Start) => Start)) => void;
  children?: ComponentChildren;
}

function CompareColumn({ title, base, scale, isAuto, onScale, start, onStart, children }: CompareColumnProps) {
  return (
    <div>
      <div class="column-title">{title}</div>
      <Picture
        subject={HERE}
        base={base}
        scale={scale}
        isAuto={isAuto}
        onScale={onScale}
        tile={start.tiles}
        onChoose={onStart}
        canMove={false}
      />
      <Histogram view={base.view} scale={scale} />
      <TensorFigures view={base.view} />
      <Numbers subject={HERE} base={base} scale={scale} start={start} onMove={onStart} canMove={false} />
      {children}
    </div>
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
  const correlation = scale > 0 ? Math.max(-1, Math.min(1, both / scale)) : null;
  return { correlation, numCompared: count };
}

/** The figures of values that were made here, in the form in which those of a tensor come. */
function viewOf(values: Values, like: TensorView): TensorView {
  let [count, sum, min, max] = [0, 0, Infinity, -Infinity];
  let [numZeros, numNan, numInf] = [0, 0, 0];
  for (const value of values) {
    if (Number.isNaN(value)) numNan += 1;
    else if (!Number.isFinite(value)) numInf += 1;
    else {
      count += 1;
      sum += value;
      min = Math.min(min, value);
      max = Math.max(max, value);
      if (value === 0) numZeros += 1;
    }
  }
  const mean = sum / Math.max(1, count);
  let squares = 0;
  for (const value of values) if (Number.isFinite(value)) squares += (value - mean) ** 2;
  const isEmpty = count === 0;
  return {
    ...like,
    num_elements: values.length,
    mean: isEmpty ? null : mean,
    std: isEmpty ? null : Math.sqrt(squares / count),
    min: isEmpty ? null : min,
    max: isEmpty ? null : max,
    num_zeros: numZeros,
    num_nan: numNan,
    num_inf: numInf,
    encoding: values instanceof Float64Array ? "f8" : "f4",
    note: "",
    ...histogramOf(values, min, max),
  };
}

function histogramOf(
  values: Values,
  min: number,
  max: number,
): Pick<TensorView, "histogram" | "histogram_low" | "histogram_high"> {
  if (!(min <= max)) return { histogram: [], histogram_low: 0, histogram_high: 0 };
  const [low, high] = min < max ? [min, max] : [min - 0.5, max + 0.5];
  const histogram = new Array<number>(NUM_BINS).fill(0);
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    histogram[Math.min(NUM_BINS - 1, Math.floor(((value - low) / (high - low)) * NUM_BINS))]! += 1;
  }
  return { histogram, histogram_low: low, histogram_high: high };
}
