/** A series of pictures, videos, sounds: a step slider, and the runs side by side. */
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { formatCount } from "../../data/format";
import type { FullRecord } from "../../data/requests";
import { fileName, save } from "../../data/save-file";
import { movedByKey } from "../../data/time-steps";
import { Figure, RunTag, Slider, ToolButton, Waiting } from "../../plot/Figure";
import { holdersOf, type Stepped, useFullRecords, useRecords, wantedOf } from "../../plot/useRecords";
import { useNear } from "../../ui/useWidth";
import type { RecordKind, RunListing } from "../../wire";

/** The records of a series at the step that is looked at, by run, as long as its place is near the screen. */
export function useShown(kind: RecordKind, name: string, isNear: boolean) {
  const holders = holdersOf(kind, name);
  const stepped = useRecords(kind, name, holders, isNear);
  const { value: records, problem, retry } = useFullRecords(wantedOf(holders, stepped), isNear);
  const again = stepped.state === "failed" ? stepped.retry : retry;
  return { holders, stepped, records, problem: stepped.problem || problem, retry: again };
}

interface Props {
  kind: RecordKind;
  name: string;
  height: number;
  remark: (record: FullRecord) => string;
  /** For all runs together. */
  tools?: ComponentChildren;
  /** How its bytes are saved; without it they are not. */
  saved?: (record: FullRecord) => { readonly extension: string; readonly type: string };
  show: (run: RunListing, record: FullRecord) => ComponentChildren;
}

export function Series({ kind, name, height, remark, tools, saved, show }: Props) {
  const place = useRef<HTMLElement>(null);
  const { holders, stepped, records, problem, retry } = useShown(kind, name, useNear(place));
  const first = records?.values().next().value;
  return (
    <Figure
      place={place}
      title={name}
      span={holders.length}
      remark={first === undefined ? undefined : remark(first)}
      tools={tools}
      onKeyDown={(event) => stepByKey(event, stepped)}
    >
      {records === null ? (
        <Waiting problem={problem} height={height} retry={retry} />
      ) : (
        <>
          <div class="sec-side">
            {holders.map(({ run }) => {
              const record = records.get(run.id);
              return (
                <div key={run.id} class="sec-one">
                  <div class="sec-one-head">
                    {holders.length > 1 ? <RunTag run={run} /> : <span />}
                    <span class="muted fs-1">{record === undefined ? laterText(stepped, run.id) : `step ${formatCount(record.entry.step)}`}</span>
                    {record !== undefined && saved !== undefined && (
                      <ToolButton
                        glyph="save"
                        name={`Save ${name} of ${run.name}`}
                        press={() => {
                          const { extension, type } = saved(record);
                          save(fileName([run.name, name, record.entry.step], extension), record.bytes, type);
                        }}
                      />
                    )}
                  </div>
                  {record !== undefined && show(run, record)}
                </div>
              );
            })}
          </div>
          <StepSlider name={name} stepped={stepped} />
        </>
      )}
    </Figure>
  );
}

/** What stands in the place of a record that comes later. */
export function laterText({ recordsOf }: Stepped, runId: string): string {
  const first = recordsOf(runId)[0];
  return first === undefined ? "nothing yet" : `begins at step ${formatCount(first.step)}`;
}

/** Which step is looked at: a slider over those that were recorded, and a button that follows the newest. */
export function StepSlider({ name, stepped }: { name: string; stepped: Stepped }) {
  const { steps, at, step, isFollowing, numAll } = stepped;
  const last = steps.length - 1;
  // A single step leaves nothing to choose.
  if (last < 1) return null;
  return (
    <div class="sec-slider">
      <Slider
        label={`Step of ${name}`}
        text={`step ${step}, ${at + 1} of ${steps.length}`}
        hint={numAll > steps.length ? `${formatCount(steps.length)} of ${formatCount(numAll)} records` : undefined}
        at={at}
        last={last}
        // Who goes to the end wants what comes there.
        set={(place) => (place === last ? stepped.follow() : stepped.moveTo(place))}
      />
      <span class="sec-out">{formatCount(step)}</span>
      <ToolButton
        glyph="newest"
        name={`Follow the newest step of ${name}`}
        isPressed={isFollowing}
        press={() => (isFollowing ? stepped.moveTo(at) : stepped.follow())}
      />
    </div>
  );
}

/** The keys of a figure with a slider, wherever in it the focus is: one step, the first, the last. */
export function stepByKey(event: KeyboardEvent, stepped: Stepped): void {
  const target = event.target as HTMLElement;
  if (["INPUT", "SELECT", "TEXTAREA"].includes(target.tagName) || target.role === "radio") return;
  if (target.dataset.keys === "own" || event.ctrlKey || event.altKey || event.metaKey) return;
  const to = movedByKey(event, stepped.at, stepped.steps.length);
  if (to === null) return;
  event.preventDefault();
  if (to >= stepped.steps.length - 1) stepped.follow();
  else stepped.moveTo(to);
}
