/** The tensor that is chosen: head, figures over time, itself at one step or at two, time bar. */
import { formatCount, formatShape } from "../format";
import { Head } from "../inspector/Head";
import { TensorSkeleton } from "../inspector/TensorSkeleton";
import { setParams } from "../route";
import * as runs from "../runs/store";
import { Blank } from "../shell/Blank";
import type { RecordListing } from "../wire";
import { CompareView } from "./CompareView";
import { HistogramView } from "./HistogramView";
import { OverTime } from "./OverTime";
import { placeKey } from "./recordlist";
import * as store from "./store";
import { TensorAtStep } from "./TensorAtStep";
import { TimeBar } from "./TimeBar";
import { useKey } from "./useKey";

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
