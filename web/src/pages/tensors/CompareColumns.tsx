/** A, B and what is between them, side by side. */
import { type ComponentChildren, Fragment } from "preact";
import { useState } from "preact/hooks";
import { formatCount, formatNumberOf, formatValue } from "../../data/format";
import type { TensorValues, Values } from "../../data/source";
import { isWhole } from "../../data/tensor-window";
import { extentOf } from "../../plot/scale";
import { TensorSkeleton } from "../../plot/tensor/Facts";
import { FIRST } from "../../plot/tensor/Picture";
import { TensorColumn } from "../../plot/tensor/TensorColumn";
import type { AskableTensor } from "../../plot/tensor/subjects";
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
  const column = (title: ComponentChildren, base: TensorValues, scaled: typeof both) => (
    <>
      <div class="column-title">{title}</div>
      <TensorColumn base={base} {...scaled} subject={HERE} start={start} onStart={onStart} canMove={false} />
    </>
  );
  return (
    <div class="tensor-columns three">
      <div>{column(<StepTitle name="A" record={a} />, valuesA, both)}</div>
      <div>{column(<OtherStep record={b} />, valuesB, both)}</div>
      {difference === null ? (
        <TensorSkeleton />
      ) : (
        <div>
          {column(
            <>
              <b>A − B</b>
              <Agreement difference={difference} />
            </>,
            difference.between,
            { scale: fixed ?? differenceScale(difference), isAuto: fixed === null, onScale: setFixed },
          )}
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
  const text = (value: number | null): string => (value === null ? "none" : formatValue(value));
  const figures = [
    ["largest", "largest", text(largest)],
    ["correlation", "correlation", text(correlation)],
    ["values", "compared", formatCount(numCompared) + part],
  ] as const;
  return (
    <dl
      class="agreement"
      aria-label="Agreement of A and B"
      title={`${formatNumberOf(numCompared, "pair")} of finite values compared${part}`}
    >
      {figures.map(([word, figure, value]) => (
        <Fragment key={word}>
          <dt>{word}</dt>
          <dd data-figure={figure}>{value}</dd>
        </Fragment>
      ))}
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
  const values = Float64Array.from(a.values, (value, at) => value - b.values[at]!);
  const view = viewOf(values, a.view);
  const largest = view.min === null || view.max === null ? null : Math.max(Math.abs(view.min), Math.abs(view.max));
  const isPair = (_: number, at: number): boolean => Number.isFinite(a.values[at]) && Number.isFinite(b.values[at]);
  const [left, right] = [centred(a.values.filter(isPair)), centred(b.values.filter(isPair))];
  const scale = Math.sqrt(product(left, left)) * Math.sqrt(product(right, right));
  const correlation = scale > 0 ? Math.max(-1, Math.min(1, product(left, right) / scale)) : null;
  return { between: { view, values }, largest, correlation, numCompared: left.length };
}

function centred(values: Values): Float64Array {
  const mean = meanOf(values);
  return Float64Array.from(values, (value) => value - mean);
}

function meanOf(values: Values): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum / Math.max(1, values.length);
}

function product(one: Float64Array, other: Float64Array): number {
  return one.reduce((sum, value, at) => sum + value * other[at]!, 0);
}

/** The figures of values that were made here, in the form in which those of a tensor come. */
function viewOf(values: Float64Array, like: TensorView): TensorView {
  const finite = values.filter(Number.isFinite);
  const span = extentOf([finite]);
  const [low, high] = span === null ? [0, 0] : span.low < span.high ? [span.low, span.high] : [span.low - 0.5, span.low + 0.5];
  const histogram = new Array<number>(span === null ? 0 : NUM_BINS).fill(0);
  for (const value of finite) histogram[Math.min(NUM_BINS - 1, Math.floor(((value - low) / (high - low)) * NUM_BINS))]! += 1;
  const away = centred(finite);
  const num_nan = values.filter(Number.isNaN).length;
  return {
    ...like,
    num_elements: values.length,
    mean: span && meanOf(finite),
    std: span && Math.sqrt(product(away, away) / finite.length),
    min: span?.low ?? null,
    max: span?.high ?? null,
    num_zeros: finite.filter((value) => value === 0).length,
    num_nan,
    num_inf: values.length - finite.length - num_nan,
    encoding: "f8",
    note: "",
    ...{ histogram, histogram_low: low, histogram_high: high },
  };
}
