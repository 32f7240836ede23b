/** The tensor that is chosen: head, figures over time, itself at one step or at two, time bar. */
import { useMemo, useState } from "preact/hooks";
import { formatCount, formatShape, formatShare, formatValue } from "../../data/format";
import { placeKey } from "../../data/record-list";
import { setParams } from "../../data/route";
import * as runs from "../../data/runs";
import { valuesOf } from "../../data/socket";
import { ByteCache } from "../../data/requests";
import { bytesOf, type Source, type TensorAnswer, type TensorValues } from "../../data/source";
import * as page from "../../data/store";
import { gridOf, type Start, stepItem } from "../../data/tensor-window";
import { TableTwin } from "../../plot/SmallChart";
import { type Figure, figureOf, withSign } from "../../plot/over-time";
import { Head, TensorFigures, TensorSkeleton, TwinSection } from "../../plot/tensor/Facts";
import { Histogram } from "../../plot/tensor/Histogram";
import { ItemStepper } from "../../plot/tensor/ItemStepper";
import { Numbers } from "../../plot/tensor/Numbers";
import { Picture } from "../../plot/tensor/Picture";
import type { AskableTensor } from "../../plot/tensor/subjects";
import { type Latest, useLatest } from "../../plot/tensor/useTensor";
import { Blank } from "../../ui/Blank";
import { TimeBar, useKey } from "../../ui/TimeBar";
import type { RecordListing, TensorView, Window } from "../../wire";
import { CompareColumns } from "./CompareColumns";
import { Downloads } from "./Downloads";
import { HistogramView } from "./HistogramView";
import { OverTimeChart } from "./OverTimeChart";
import { missingIn, useScale, valuesIn } from "./records";
import * as store from "./store";
import { largestWindow } from "./store";

export function TensorStage() {
  const records = store.records.value;
  const at = store.at.value;
  const record = records[at];
  const numAll = store.list.value?.numAll ?? records.length;
  return (
    <div class="tensor-stage">
      <div class="tensor-head">
        <Head title={store.chosen.value?.name ?? ""}>{factsOf(record)}</Head>
        <span class="grow" />
        <RunSelect />
        {record !== undefined && records.length > 1 && <CompareSwitch />}
      </div>
      <div class="tensor-scroll">
        {record === undefined ? (
          <Waiting />
        ) : (
          <>
            <OverTime records={records} at={at} other={store.otherAt.value} onGo={store.goTo} />
            <Body key={placeKey(store.place.value!)} record={record} />
          </>
        )}
      </div>
      {record !== undefined && (
        <TimeBar
          moments={records}
          at={at}
          numAll={numAll}
          isFollowing={store.wantedStep.value === null}
          onGo={store.goTo}
          onFollow={store.follow}
        />
      )}
    </div>
  );
}

function factsOf(record: RecordListing | undefined): string {
  if (record?.head.kind === "tensor") return `${formatShape(record.head.shape)} · ${record.head.dtype}`;
  if (record?.head.kind === "histogram")
    return `histogram of ${formatCount(record.head.num)} values in ${formatCount(record.head.num_bins)} bins`;
  return "";
}

function Waiting() {
  if (store.failure.value === "") return <TensorSkeleton />;
  return (
    <Blank icon="broken" title="This tensor cannot be read" isError>
      <span>{store.failure.value}</span>
    </Blank>
  );
}

function Body({ record }: { record: RecordListing }) {
  const place = store.place.value;
  const other = store.otherAt.value === null ? undefined : store.records.value[store.otherAt.value];
  if (place === null) return null;
  if (record.head.kind === "histogram")
    return <HistogramView runId={place.runId} record={record} other={other ?? null} />;
  if (other !== undefined) return <CompareView runId={place.runId} a={record} b={other} />;
  return <TensorAtStep runId={place.runId} record={record} />;
}

/** Of which run, where several have it. */
function RunSelect() {
  const list = store.itsRuns.value;
  const now = store.place.value?.runId ?? "";
  if (list.length === 0) return null;
  return (
    <label class="run-select">
      <i class="sw" style={{ background: runs.colourOf(now) }} />
      <select
        class="input sm"
        aria-label="Run"
        value={now}
        onChange={(event) => setParams({ run: event.currentTarget.value })}
      >
        {list.map((run) => (
          <option key={run.id} value={run.id}>
            {run.name}
          </option>
        ))}
      </select>
    </label>
  );
}

function CompareSwitch() {
  const isOn = store.otherAt.value !== null;
  const toggle = (): void => store.compareWith(isOn ? null : firstOther());
  useKey("x", toggle);
  return (
    <button
      class="btn sm"
      aria-pressed={isOn}
      title="Two steps side by side (x)"
      onClick={toggle}
    >
      Compare steps
    </button>
  );
}

/** The first step or, where that is the one shown, the last. */
function firstOther(): number {
  return store.at.peek() === 0 ? store.records.peek().length - 1 : 0;
}

// --- A tensor at two steps: the same window of both is fetched, all of it where it may be had at once.

interface Props {
  runId: string;
  a: RecordListing;
  b: RecordListing;
}

function CompareView({ runId, a, b }: Props) {
  if (a.head.kind === "tensor" && b.head.kind === "tensor" && a.head.shape.join() !== b.head.shape.join()) {
    const [left, right] = [formatShape(a.head.shape), formatShape(b.head.shape)];
    return <Missing title="Nothing to compare" reason={`The shapes differ: ${left} at step ${a.step}, ${right} at step ${b.step}.`} />;
  }
  return <SameShape runId={runId} a={a} b={b} />;
}

function SameShape({ runId, a, b }: Props) {
  const source = page.source.value;
  const subjectA = source === null ? null : runTensor(source, runId, a.record);
  const subjectB = source === null ? null : runTensor(source, runId, b.record);
  const choice = useItem();
  const first = useLatest(subjectA, null);
  const look = valuesIn(first)?.view;
  const window = look === undefined ? undefined : largestWindow(look.shape, choice.itemOf(look), look.window);
  const [left, right] = [useLatest(subjectA, window), useLatest(subjectB, window)];
  const reason = firstReason(first, left, right);
  if (reason !== null) return <Missing title="Nothing to compare" reason={reason} />;
  const [valuesA, valuesB] = [valuesIn(left), valuesIn(right)];
  if (look === undefined || valuesA === null || valuesB === null) return <TensorSkeleton />;
  return (
    <div class="tensor-parts" aria-busy={left.isPending || right.isPending}>
      <Items view={look} choice={choice} />
      <CompareColumns a={a} b={b} valuesA={valuesA} valuesB={valuesB} />
    </div>
  );
}

function firstReason(...all: readonly Latest[]): string | null {
  return all.map(missingIn).find((reason) => reason !== null) ?? null;
}

function Missing({ title, reason }: { title: string; reason: string }) {
  return (
    <Blank icon="frame" title={title}>
      <span>{reason}</span>
    </Blank>
  );
}

// --- Mean with its deviation, extremes, zeros and what is no number, over all steps; a click goes to a step.

interface OverTimeProps {
  records: readonly RecordListing[];
  at: number;
  other: number | null;
  onGo: (at: number) => void;
}

function OverTime({ records, at, other, onGo }: OverTimeProps) {
  const [hover, setHover] = useState<number | null>(null);
  const figures = useMemo(() => records.map(figureOf).filter((one) => one !== null), [records]);
  const shown = figures[hover ?? at];
  return (
    <TwinSection
      title="Over time"
      remark={shown !== undefined && describe(shown)}
      table={<FigureTable figures={figures} at={at} onGo={onGo} />}
      chart={<OverTimeChart figures={figures} at={at} other={other} hover={hover} onHover={setHover} onGo={onGo} />}
    />
  );
}

function describe(figure: Figure): string {
  const { step, mean, std } = figure;
  const value = mean === null ? "no finite values" : `mean ${withSign(figure, "mean", formatValue(mean, 3))}`;
  return `step ${formatCount(step)}: ${value}${std === null ? "" : ` ± ${formatValue(std, 3)}`} ·`;
}

function FigureTable({ figures, at, onGo }: { figures: readonly Figure[]; at: number; onGo: (at: number) => void }) {
  const value = (figure: Figure, name: "mean" | "std" | "min" | "max"): string => {
    const one = figure[name];
    return one === null ? "none" : withSign(figure, name, formatValue(one));
  };
  return (
    <TableTwin
      label="Figures over time"
      class="figure-table"
      heads={["step", "mean", "std", "min", "max", "zeros", "NaN / Inf"]}
      at={at}
      rows={figures.map((figure, nth) => [
        <button class="link" onClick={() => onGo(nth)}>
          {formatCount(figure.step)}
        </button>,
        ...(["mean", "std", "min", "max"] as const).map((name) => value(figure, name)),
        figure.zeros === null ? "unknown" : formatShare(figure.zeros, 1),
        <span class={figure.numNan + figure.numInf > 0 ? "bad" : ""}>
          {formatCount(figure.numNan)} / {formatCount(figure.numInf)}
        </span>,
      ])}
    />
  );
}

// --- One tensor at one step: picture, numbers, histogram, figures.

interface TensorAtStepProps {
  runId: string;
  record: RecordListing;
}

function TensorAtStep({ runId, record }: TensorAtStepProps) {
  const source = page.source.value;
  const subject = source === null ? null : runTensor(source, runId, record.record);
  const choice = useItem();
  const first = useLatest(subject, null);
  const whole = valuesIn(first);
  const moved = useLatest(subject, whole === null ? undefined : otherItem(whole, choice.itemOf(whole.view)));
  const reason = missingIn(first) ?? missingIn(moved);
  if (reason !== null) return <Missing title="No values to show" reason={reason} />;
  if (whole === null || first.held === null) return <TensorSkeleton />;
  const isOther = otherItem(whole, choice.itemOf(whole.view)) !== undefined;
  const base = isOther ? (valuesIn(moved) ?? whole) : whole;
  return (
    <div class="tensor-parts" aria-busy={first.isPending || moved.isPending}>
      <Items view={whole.view} choice={choice} />
      <Parts subject={first.held.subject} base={base} />
    </div>
  );
}

/** The window of the item that is wanted; undefined where it is the first look itself. */
function otherItem({ view }: TensorValues, item: readonly number[]): Window | undefined {
  return item.join() === view.window.item.join() ? undefined : { ...view.window, item: [...item] };
}

function Parts({ subject, base }: { subject: AskableTensor; base: TensorValues }) {
  const [start, setStart] = useState<Start>({ tiles: 0, rows: 0, columns: 0 });
  const { scale, isAuto, setFixed } = useScale(base.view);
  if (base.values.length === 0) return <Missing title="No values to show" reason="This tensor has no elements." />;
  const key = base.view.shape.join();
  return (
    <div class="tensor-columns" key={key}>
      <div>
        <Picture
          subject={subject}
          base={base}
          scale={scale}
          isAuto={isAuto}
          onScale={setFixed}
          tile={start.tiles}
          onChoose={setStart}
          canMove
        />
        <ScaleChoice />
        <Numbers subject={subject} base={base} scale={scale} start={start} onMove={setStart} canMove />
      </div>
      <div>
        <Histogram view={base.view} scale={scale} />
        <TensorFigures view={base.view} />
        <Downloads subject={subject} base={base} />
      </div>
    </div>
  );
}

// --- Whether a colour means the same at every step.

function ScaleChoice() {
  return (
    <div class="section scale-choice">
      <label class="check">
        <input
          type="checkbox"
          checked={store.isScaleShared.value}
          onChange={(event) => (store.isScaleShared.value = event.currentTarget.checked)}
        />
        Same colours at every step
      </label>
    </div>
  );
}

// --- The way through the items of a tensor, where it has several.

function Items({ view, choice }: { view: TensorView; choice: ItemChoice }) {
  const { itemShape } = gridOf(view.shape);
  if (view.num_elements === 0 || !itemShape.some((size) => size > 1)) return null;
  return (
    <ItemStepper shape={itemShape} item={choice.itemOf(view)} canMove onStep={(by) => choice.step(view, by)} />
  );
}

// --- Which item of a batch is looked at. It stays while steps change, as long as the tensor has it.

interface ItemChoice {
  readonly itemOf: (view: TensorView) => readonly number[];
  readonly step: (view: TensorView, by: number) => void;
}

function useItem(): ItemChoice {
  const [item, setItem] = useState<readonly number[] | null>(null);
  return {
    itemOf: (view) => fitting(item, view),
    // From the newest item, not the one on screen: quick steps are all taken.
    step: (view, by) =>
      setItem((before) => stepItem(gridOf(view.shape).itemShape, fitting(before, view), by) ?? before),
  };
}

/** The item that is wanted, or the one of the first look where the tensor has no such item. */
export function fitting(item: readonly number[] | null, { shape, window }: TensorView): readonly number[] {
  const { itemShape } = gridOf(shape);
  const fits = item?.length === itemShape.length && item.every((at, dim) => at < itemShape[dim]!);
  return item !== null && fits ? item : window.item;
}

// --- A tensor of a run, asked for by its record.

const cache = new ByteCache<TensorAnswer>(64_000_000);

function runTensor(source: Source, runId: string, record: string): AskableTensor {
  return { key: `${runId} ${record}`, ask: (window) => askFor(source, runId, record, window) };
}

async function askFor(
  source: Source,
  runId: string,
  record: string,
  window: Window | null,
): Promise<TensorAnswer> {
  const key = JSON.stringify([runId, record, window]);
  const known = cache.get(key);
  if (known !== undefined) return known;
  try {
    const { answer, buffer, offset } = await source.ask({ type: "run_tensor", run_id: runId, record, window });
    if (answer.type !== "tensor") return { missing: `The server answered with ${answer.type}.` };
    const found = { view: answer.view, values: valuesOf(answer.view, buffer, offset) };
    cache.set(key, found, bytesOf(found));
    return found;
  } catch (reason) {
    // Not kept: the next time it may be there.
    return { missing: reason instanceof Error ? reason.message : String(reason) };
  }
}
