/** What the chosen runs hold besides scalars: distributions, evaluation, pictures, sound, text. */
import type { ComponentChildren } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { formatCount, formatNumberOf, formatSeconds } from "../../data/format";
import type { FullRecord } from "../../data/requests";
import { chosen, colourSlot } from "../../data/runs";
import { fileName, save } from "../../data/save-file";
import { Figure, Group, RunTag, ToolButton, Waiting } from "../../plot/Figure";
import { Distribution } from "../../plot/distribution/Distribution";
import {
  cellNumbers,
  countScale,
  distributionRun,
  pixels,
  tensorsToo,
  textForm,
  textLayout,
} from "../../plot/figure-options";
import { type Holder, holdersOf, shownNames } from "../../plot/series";
import { useFullRecords, useRecords, wantedOf } from "../../plot/useRecords";
import { Segments } from "../../ui/controls";
import { useNear } from "../../ui/useWidth";
import type { RecordKind, RunListing } from "../../wire";
import { stepByKey, StepSlider } from "./StepSlider";
import { PrCurves } from "./evaluation/PrCurves";
import { RunMatrix } from "./evaluation/RunMatrix";
import { ImageSeries } from "./media/ImageSeries";
import { Listener } from "./media/Listener";
import { Player } from "./media/Player";
import { reelOfVideo } from "./media/reel";
import { setVolume, volume } from "./media/wav";
import { TextSeries } from "./text/TextSeries";
import "../../plot/figures.css";

export function Sections() {
  return (
    <div class="sections">
      <div class={isSideBySide() ? "sec-halves" : undefined}>
        <Distributions />
        <Evaluation />
      </div>
      <Images />
      <Videos />
      <Audio />
      <Texts />
    </div>
  );
}

const MAX_BESIDE = 2;

/** A few of each stand beside each other; where there are more, each kind takes the whole width. */
function isSideBySide(): boolean {
  const [numDistributions, curves] = [distributionNames().length, shownNames("pr_curve")];
  const matrices = shownNames("confusion").flatMap((name) => holdersOf("confusion", name));
  if (numDistributions === 0 || curves.length + matrices.length === 0) return false;
  return numDistributions <= MAX_BESIDE && curves.length <= 1 && matrices.length <= MAX_BESIDE;
}

// --- The pictures of the chosen runs.

function Images() {
  const names = shownNames("image");
  if (names.length === 0) return null;
  const tools = (
    <Segments
      label="Between pixels"
      words={[
        ["sharp", "Pixels"],
        ["smooth", "Smooth"],
      ]}
      chosen={pixels.value}
      choose={pixels.set}
    />
  );
  return (
    <Group name="images" count={names.length} tools={tools}>
      {names.map((name) => (
        <ImageSeries key={name} name={name} />
      ))}
    </Group>
  );
}

// --- How good the chosen runs are: PR and ROC curves, confusion matrices.

function Evaluation() {
  const [curves, matrices] = [shownNames("pr_curve"), shownNames("confusion")];
  const count = curves.length + matrices.length;
  if (count === 0) return null;
  const tools = matrices.length > 0 && (
    <Segments
      label="Numbers of the confusion matrix"
      words={[
        ["counts", "Counts"],
        ["share", "Per cent"],
      ]}
      chosen={cellNumbers.value}
      choose={cellNumbers.set}
    />
  );
  return (
    <Group name="evaluation" count={count} tools={tools}>
      {curves.map((name) => (
        <PrCurves key={name} name={name} />
      ))}
      {matrices.map((name) => (
        <Confusion key={name} name={name} />
      ))}
    </Group>
  );
}

// --- The texts of the chosen runs.

function Texts() {
  const names = shownNames("text");
  if (names.length === 0) return null;
  const tools = (
    <>
      <Segments
        label="How many texts"
        words={[
          ["one", "One step"],
          ["list", "List"],
        ]}
        chosen={textLayout.value}
        choose={textLayout.set}
      />
      <Segments
        label="Form of texts"
        words={[
          ["markdown", "Markdown"],
          ["plain", "Plain"],
        ]}
        chosen={textForm.value}
        choose={textForm.set}
      />
    </>
  );
  return (
    <Group name="text" count={names.length} tools={tools}>
      {names.map((name) => (
        <TextSeries key={name} name={name} />
      ))}
    </Group>
  );
}

// --- The videos of the chosen runs.

function Videos() {
  const names = shownNames("video");
  if (names.length === 0) return null;
  return (
    <Group name="video" count={names.length}>
      {names.map((name) => (
        <Series
          key={name}
          kind="video"
          name={name}
          height={180}
          remark={describe}
          tools={() => null}
          show={({ run }, record) => <Video label={`${name} of ${run.name}`} record={record} />}
        />
      ))}
    </Group>
  );
}

function Video({ label, record }: { label: string; record: FullRecord }) {
  const { head } = record.entry;
  const reel = useMemo(() => (head.kind === "video" ? reelOfVideo(record, head) : null), [record]);
  return reel && <Player label={label} reel={reel} />;
}

function describe({ entry: { head } }: FullRecord): string {
  if (head.kind !== "video") return "";
  const count = head.frame_bytes.length;
  const length = head.frames_per_second > 0 ? ` · ${formatSeconds(count / head.frames_per_second)}` : "";
  return `${head.width}×${head.height} · ${formatNumberOf(count, "frame")}${length}`;
}

// --- The sounds of the chosen runs.

function Audio() {
  const names = shownNames("audio");
  if (names.length === 0) return null;
  const tools = (
    <label class="check sec-volume">
      Volume
      <input
        type="range"
        min={0}
        max={100}
        value={Math.round(volume.value * 100)}
        onInput={(event) => setVolume(Number(event.currentTarget.value) / 100)}
      />
    </label>
  );
  return (
    <Group name="audio" count={names.length} tools={tools}>
      {names.map((name) => (
        <Series
          key={name}
          kind="audio"
          name={name}
          height={110}
          remark={describeAudio}
          tools={({ run }, { entry, bytes }) => (
            <ToolButton
              glyph="save"
              name={`Save ${name} of ${run.name}`}
              press={() => save(fileName([run.name, name, entry.step], "wav"), bytes, "audio/wav")}
            />
          )}
          show={({ run }, record) => (
            <Listener label={`${name} of ${run.name}`} record={record} colour={colourSlot(run.id)} />
          )}
        />
      ))}
    </Group>
  );
}

function describeAudio({ entry: { head } }: FullRecord): string {
  if (head.kind !== "audio") return "";
  const length = head.sample_rate > 0 ? `${formatSeconds(head.num_frames / head.sample_rate)} · ` : "";
  return `${length}${formatCount(head.sample_rate)}\u202fHz · ${formatNumberOf(head.num_channels, "channel")}`;
}

// --- The confusion matrices of one series: a step slider, and the runs side by side.

const HEIGHT = 252;
const WIDE_FROM = 14; // classes: then a matrix takes two columns

function Confusion({ name }: { name: string }) {
  const place = useRef<HTMLElement>(null);
  const isNear = useNear(place);
  const holders = holdersOf("confusion", name);
  const stepped = useRecords("confusion", name, holders, isNear);
  const { value, problem, retry } = useFullRecords(wantedOf(holders, stepped), isNear);
  const head = value?.values().next().value?.entry.head;
  const isWide = head?.kind === "confusion" && head.labels.length >= WIDE_FROM;
  const columns = holders.length * (isWide ? 2 : 1);
  return (
    <Figure place={place} title={name} hint={`${name}, confusion`} span={columns}>
      {value === null ? (
        <Waiting
          problem={stepped.problem || problem}
          height={HEIGHT}
          retry={stepped.state === "failed" ? stepped.retry : retry}
        />
      ) : (
        <>
          <div class={isWide ? "sec-side wide" : "sec-side"}>
            {holders.map(({ run }) => {
              const record = value.get(run.id);
              if (record !== undefined)
                return (
                  <RunMatrix
                    key={run.id}
                    name={name}
                    run={run}
                    record={record}
                    isNamed={holders.length > 1}
                  />
                );
              const first = stepped.recordsOf(run.id)[0];
              return (
                <p key={run.id} class="muted fs-1">
                  {run.name}{" "}
                  {first === undefined ? "has none yet" : `begins at step ${formatCount(first.step)}`}
                </p>
              );
            })}
          </div>
          <StepSlider name={name} stepped={stepped} />
        </>
      )}
    </Figure>
  );
}

// --- A series of videos or sounds: a step slider, and a player for each run.

interface Props {
  kind: RecordKind;
  name: string;
  height: number;
  remark: (record: FullRecord) => string;
  tools: (holder: Holder, record: FullRecord) => ComponentChildren;
  show: (holder: Holder, record: FullRecord) => ComponentChildren;
}

function Series({ kind, name, height, remark, tools, show }: Props) {
  const place = useRef<HTMLElement>(null);
  const isNear = useNear(place);
  const holders = holdersOf(kind, name);
  const stepped = useRecords(kind, name, holders, isNear);
  const { value, problem, retry } = useFullRecords(wantedOf(holders, stepped), isNear);
  const first = value?.values().next().value;
  return (
    <Figure
      place={place}
      title={name}
      span={holders.length}
      remark={first === undefined ? undefined : remark(first)}
      onKeyDown={(event) => stepByKey(event, stepped)}
    >
      {value === null ? (
        <Waiting
          problem={stepped.problem || problem}
          height={height}
          retry={stepped.state === "failed" ? stepped.retry : retry}
        />
      ) : (
        <>
          <div class="sec-side">
            {holders.map((holder) => {
              const record = value.get(holder.run.id);
              return (
                <div key={holder.run.id} class="sec-one">
                  <div class="sec-one-head">
                    {holders.length > 1 ? <RunTag run={holder.run} /> : <span />}
                    <span class="muted fs-1">
                      {record === undefined ? "begins later" : `step ${formatCount(record.entry.step)}`}
                    </span>
                    {record !== undefined && tools(holder, record)}
                  </div>
                  {record !== undefined && show(holder, record)}
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

// --- The distributions of the chosen runs: one run at a time, all of its series.

type Kind = "histogram" | "tensor";

interface Row {
  readonly kind: Kind;
  readonly name: string;
  readonly holders: readonly Holder[];
}

/** More than these are a long way to scroll, such as where all layers are watched. */
const MOST_OPEN = 24;

/** The series that are shown, or could be. */
function distributionNames(): readonly (readonly [Kind, string])[] {
  const histograms = shownNames("histogram").map((name) => ["histogram", name] as const);
  if (tensorsToo.value === "no") return histograms;
  return [...histograms, ...shownNames("tensor").map((name) => ["tensor", name] as const)];
}

function Distributions() {
  const numTensors = shownNames("tensor").length;
  const rows = distributionNames().map(([kind, name]) => ({ kind, name, holders: holdersOf(kind, name) }));
  const shown = rows.filter(({ holders }) => holders.length > 0);
  if (shown.length === 0 && numTensors === 0) return null;
  const runs = runsOf(shown);
  const tools = (
    <>
      {runs.length > 1 && <RunSelect runs={runs} />}
      {numTensors > 0 && (
        <label class="check">
          <input
            type="checkbox"
            checked={tensorsToo.value === "yes"}
            onChange={(event) => tensorsToo.set(event.currentTarget.checked ? "yes" : "no")}
          />
          Tensors
        </label>
      )}
      {shown.length > 0 && (
        <Segments
          label="Counts of the distributions"
          words={[
            ["linear", "Linear"],
            ["log", "Log count"],
          ]}
          chosen={countScale.value}
          choose={countScale.set}
        />
      )}
    </>
  );
  return (
    <Group
      name="distributions"
      count={shown.length}
      whyClosed={shown.length > MOST_OPEN ? "folded because there are many; \u201cFilter charts\u201d leaves fewer" : ""}
      tools={tools}
    >
      {shown.map(({ kind, name, holders }) => {
        const holder = holders.find(({ run }) => run.id === distributionRun.value) ?? holders[0]!;
        return (
          <Distribution
            key={`${kind} ${name}`}
            kind={kind}
            name={name}
            holder={holder}
            isNamed={chosen.value.length > 1}
          />
        );
      })}
    </Group>
  );
}

function runsOf(rows: readonly Row[]): readonly RunListing[] {
  return [
    ...new Map(rows.flatMap(({ holders }) => holders.map(({ run }) => [run.id, run] as const))).values(),
  ];
}

function RunSelect({ runs }: { runs: readonly RunListing[] }) {
  return (
    <select
      class="input sm sec-select"
      aria-label="Run whose distributions are shown"
      value={runs.some(({ id }) => id === distributionRun.value) ? distributionRun.value : runs[0]!.id}
      onChange={(event) => distributionRun.set(event.currentTarget.value)}
    >
      {runs.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  );
}
