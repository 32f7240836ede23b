/** The tensor that is chosen: head, figures over time, itself at one step or at two, time bar. */
import { useState } from "preact/hooks";
import { formatCount, formatShape } from "../../data/format";
import { messageOf } from "../../data/message-of";
import { placeKey } from "../../data/record-list";
import { askOf, ByteCache } from "../../data/requests";
import { setParams } from "../../data/route";
import { valuesOf } from "../../data/socket";
import { bytesOf, type TensorAnswer, type TensorValues } from "../../data/source";
import { Head, TensorFigures, TensorSkeleton } from "../../plot/tensor/Facts";
import { Histogram } from "../../plot/tensor/Histogram";
import { ItemStepper } from "../../plot/tensor/ItemStepper";
import { Numbers } from "../../plot/tensor/Numbers";
import { FIRST, Picture } from "../../plot/tensor/Picture";
import type { AskableTensor } from "../../plot/tensor/subjects";
import { missingIn, useItem, useItemOf, useLatest, valuesIn } from "../../plot/tensor/useTensor";
import { Blank } from "../../ui/Blank";
import { Check } from "../../ui/Check";
import { RunSelect } from "../../ui/Select";
import { TimeBar, useKey } from "../../ui/TimeBar";
import type { RecordListing, Window } from "../../wire";
import { CompareColumns } from "./CompareColumns";
import { Downloads } from "./Downloads";
import { HistogramView } from "./HistogramView";
import { OverTime } from "./OverTime";
import * as store from "./store";

export function TensorStage() {
  const records = store.records.value;
  const at = store.at.value;
  const record = records[at];
  const place = store.place.value;
  return (
    <div class="tensor-stage">
      <div class="tensor-head">
        <Head title={store.chosen.value?.name ?? ""}>{factsOf(record)}</Head>
        <span class="grow" />
        {place !== null && (
          <RunSelect value={place.runId} runs={store.itsRuns.value} look="input sm" set={(run) => setParams({ run })} />
        )}
        {records.length > 1 && <CompareSwitch />}
      </div>
      <div class="tensor-scroll">
        {record === undefined || place === null ? (
          <Waiting />
        ) : (
          <>
            <OverTime />
            <Body key={placeKey(place)} record={record} />
          </>
        )}
      </div>
      {record !== undefined && (
        <TimeBar
          moments={records}
          at={at}
          numAll={store.list.value?.numAll ?? records.length}
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
  const other = store.records.value[store.otherAt.value ?? -1];
  if (record.head.kind === "histogram") return <HistogramView record={record} other={other ?? null} />;
  if (other === undefined) return <TensorAtStep record={record} />;
  if (other.head.kind !== "tensor" || record.head.kind !== "tensor") return null;
  const [left, right] = [formatShape(record.head.shape), formatShape(other.head.shape)];
  if (left === right) return <TensorAtSteps a={record} b={other} />;
  const reason = `The shapes differ: ${left} at step ${record.step}, ${right} at step ${other.step}.`;
  return <Missing title="Nothing to compare" reason={reason} />;
}

function CompareSwitch() {
  const isOn = store.otherAt.value !== null;
  const toggle = (): void => {
    // The first step or, where that is the one shown, the last.
    const other = store.at.peek() === 0 ? store.records.peek().length - 1 : 0;
    store.compareWith(isOn ? null : other);
  };
  useKey("x", toggle);
  return (
    <button class="btn sm" aria-pressed={isOn} title="Two steps side by side (x)" onClick={toggle}>
      Compare steps
    </button>
  );
}

function Missing({ title, reason }: { title: string; reason: string }) {
  return (
    <Blank icon="frame" title={title}>
      <span>{reason}</span>
    </Blank>
  );
}

/** A tensor at two steps: the same window of both is fetched, all of it where it may be had at once. */
function TensorAtSteps({ a, b }: { a: RecordListing; b: RecordListing }) {
  const [subjectA, subjectB] = [runTensor(a.record), runTensor(b.record)];
  const choice = useItem();
  const first = useLatest(subjectA, null);
  const look = valuesIn(first)?.view;
  const window = look === undefined ? undefined : store.largestWindow(look.shape, choice.itemOf(look), look.window);
  const [left, right] = [useLatest(subjectA, window), useLatest(subjectB, window)];
  const reason = missingIn(first) ?? missingIn(left) ?? missingIn(right);
  if (reason !== null) return <Missing title="Nothing to compare" reason={reason} />;
  const [valuesA, valuesB] = [valuesIn(left), valuesIn(right)];
  if (look === undefined || valuesA === null || valuesB === null) return <TensorSkeleton />;
  return (
    <div class="tensor-parts" aria-busy={left.isPending || right.isPending}>
      <ItemStepper view={look} item={choice.itemOf(look)} canMove onStep={(by) => choice.step(look, by)} />
      <CompareColumns a={a} b={b} valuesA={valuesA} valuesB={valuesB} />
    </div>
  );
}

/** One tensor at one step: picture, numbers, histogram, figures. */
function TensorAtStep({ record }: { record: RecordListing }) {
  const { first, whole, item, shown, step } = useItemOf(runTensor(record.record));
  const reason = missingIn(first) ?? missingIn(shown);
  if (reason !== null) return <Missing title="No values to show" reason={reason} />;
  if (whole === null || first.held === null) return <TensorSkeleton />;
  return (
    <div class="tensor-parts" aria-busy={first.isPending || shown.isPending}>
      <ItemStepper view={whole.view} item={item} canMove onStep={step} />
      <Parts subject={first.held.subject} base={valuesIn(shown) ?? whole} />
    </div>
  );
}

function Parts({ subject, base }: { subject: AskableTensor; base: TensorValues }) {
  const [start, setStart] = useState(FIRST);
  const scaled = store.useScale(base.view);
  if (base.values.length === 0) return <Missing title="No values to show" reason="This tensor has no elements." />;
  const look = { subject, base, start, onStart: setStart, canMove: true, ...scaled };
  return (
    <div class="tensor-columns" key={base.view.shape.join()}>
      <div>
        <Picture {...look} />
        <div class="section scale-choice">
          <Check isOn={store.isScaleShared.value} set={(isOn) => (store.isScaleShared.value = isOn)}>
            Same colours at every step
          </Check>
        </div>
        <Numbers {...look} />
      </div>
      <div>
        <Histogram view={base.view} scale={look.scale} />
        <TensorFigures view={base.view} />
        <Downloads subject={subject} base={base} />
      </div>
    </div>
  );
}

const cache = new ByteCache<TensorAnswer>(64_000_000);

/** A tensor of a run, asked for by its record. */
function runTensor(record: string): AskableTensor {
  const run_id = store.place.value?.runId ?? "";
  const key = `${run_id} ${record}`;
  const askFor = async (window: Window | null): Promise<TensorAnswer> => {
    const { answer, buffer, offset } = await askOf({ type: "run_tensor", run_id, record, window }, "tensor");
    return { view: answer.view, values: valuesOf(answer.view, buffer, offset) };
  };
  return {
    key,
    ask: (window) =>
      cache
        .fetched(JSON.stringify([key, window]), () => askFor(window), bytesOf)
        .catch((reason: unknown) => ({ missing: messageOf(reason) })),
  };
}
