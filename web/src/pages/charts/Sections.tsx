/** What the chosen runs hold besides scalars: distributions, evaluation, pictures, sound, text. */
import type { ComponentChildren } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { formatCount, formatNumberOf, formatSeconds } from "../../data/format";
import type { FullRecord } from "../../data/requests";
import { chosen, colourSlot } from "../../data/runs";
import { Figure, Group, Waiting } from "../../plot/Figure";
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
import { holdersOf, shownNames } from "../../plot/useRecords";
import { Check } from "../../ui/Check";
import { Select } from "../../ui/Select";
import { Segments } from "../../ui/controls";
import { useNear } from "../../ui/useWidth";
import type { RecordKind } from "../../wire";
import { laterText, Series, StepSlider, useShown } from "./Series";
import { PrCurves } from "./evaluation/PrCurves";
import { RunMatrix } from "./evaluation/RunMatrix";
import { ImageSeries } from "./media/ImageSeries";
import { Listener, Player, reelOfVideo } from "./media/Player";
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
      <KindGroup name="images" kind="image" tools={<Segments label="Between pixels" {...pixels} />}>
        {(name) => <ImageSeries key={name} name={name} />}
      </KindGroup>
      <KindGroup name="video" kind="video">
        {(name) => (
          <Series
            key={name}
            kind="video"
            name={name}
            height={180}
            remark={describeVideo}
            show={(run, record) => <Video label={`${name} of ${run.name}`} record={record} />}
          />
        )}
      </KindGroup>
      <KindGroup name="audio" kind="audio" tools={<Volume />}>
        {(name) => (
          <Series
            key={name}
            kind="audio"
            name={name}
            height={110}
            remark={describeAudio}
            saved={() => ({ extension: "wav", type: "audio/wav" })}
            show={(run, record) => <Listener label={`${name} of ${run.name}`} record={record} colour={colourSlot(run.id)} />}
          />
        )}
      </KindGroup>
      <KindGroup
        name="text"
        kind="text"
        tools={
          <>
            <Segments label="How many texts" {...textLayout} />
            <Segments label="Form of texts" {...textForm} />
          </>
        }
      >
        {(name) => <TextSeries key={name} name={name} />}
      </KindGroup>
    </div>
  );
}

/** All series of a kind under one heading; absent where there are none. */
function KindGroup(props: { name: string; kind: RecordKind; tools?: ComponentChildren; children: (name: string) => ComponentChildren }) {
  const names = shownNames(props.kind);
  if (names.length === 0) return null;
  return (
    <Group name={props.name} count={names.length} tools={props.tools}>
      {names.map(props.children)}
    </Group>
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

/** Videos and sounds. */
function Video({ label, record }: { label: string; record: FullRecord }) {
  const { head } = record.entry;
  const reel = useMemo(() => (head.kind === "video" ? reelOfVideo(record, head) : null), [record]);
  return reel && <Player label={label} reel={reel} />;
}

function describeVideo({ entry: { head } }: FullRecord): string {
  if (head.kind !== "video") return "";
  const count = head.frame_bytes.length;
  const length = head.frames_per_second > 0 ? ` · ${formatSeconds(count / head.frames_per_second)}` : "";
  return `${head.width}×${head.height} · ${formatNumberOf(count, "frame")}${length}`;
}

function Volume() {
  return (
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
}

function describeAudio({ entry: { head } }: FullRecord): string {
  if (head.kind !== "audio") return "";
  const length = head.sample_rate > 0 ? `${formatSeconds(head.num_frames / head.sample_rate)} · ` : "";
  return `${length}${formatCount(head.sample_rate)}\u202fHz · ${formatNumberOf(head.num_channels, "channel")}`;
}

/** How good the chosen runs are: PR and ROC curves, confusion matrices with the runs side by side. */
function Evaluation() {
  const [curves, matrices] = [shownNames("pr_curve"), shownNames("confusion")];
  const count = curves.length + matrices.length;
  if (count === 0) return null;
  const tools = matrices.length > 0 && (
    <Segments label="Numbers of the confusion matrix" {...cellNumbers} />
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

const HEIGHT = 252;
const WIDE_FROM = 14; // classes: then a matrix takes two columns

function Confusion({ name }: { name: string }) {
  const place = useRef<HTMLElement>(null);
  const { holders, stepped, records, problem, retry } = useShown("confusion", name, useNear(place));
  const head = records?.values().next().value?.entry.head;
  const isWide = head?.kind === "confusion" && head.labels.length >= WIDE_FROM;
  return (
    <Figure place={place} title={name} hint={`${name}, confusion`} span={holders.length * (isWide ? 2 : 1)}>
      {records === null ? (
        <Waiting problem={problem} height={HEIGHT} retry={retry} />
      ) : (
        <>
          <div class={isWide ? "sec-side wide" : "sec-side"}>
            {holders.map(({ run }) => {
              const record = records.get(run.id);
              return record === undefined ? (
                <p key={run.id} class="muted fs-1">
                  {run.name} {laterText(stepped, run.id)}
                </p>
              ) : (
                <RunMatrix key={run.id} name={name} run={run} record={record} isNamed={holders.length > 1} />
              );
            })}
          </div>
          <StepSlider name={name} stepped={stepped} />
        </>
      )}
    </Figure>
  );
}

/** More than these are a long way to scroll, such as where all layers are watched. */
const MOST_OPEN = 24;

function distributionNames(): readonly (readonly ["histogram" | "tensor", string])[] {
  const histograms = shownNames("histogram").map((name) => ["histogram", name] as const);
  if (!tensorsToo.isOn) return histograms;
  return [...histograms, ...shownNames("tensor").map((name) => ["tensor", name] as const)];
}

function Distributions() {
  const hasTensors = shownNames("tensor").length > 0;
  const rows = distributionNames().map(([kind, name]) => ({ kind, name, holders: holdersOf(kind, name) }));
  const shown = rows.filter(({ holders }) => holders.length > 0);
  if (shown.length === 0 && !hasTensors) return null;
  const runs = [...new Map(shown.flatMap(({ holders }) => holders.map(({ run }) => [run.id, run] as const))).values()];
  const tools = (
    <>
      {runs.length > 1 && (
        <Select
          look="input sm sec-select"
          label="Run whose distributions are shown"
          value={runs.some(({ id }) => id === distributionRun.value) ? distributionRun.value : runs[0]!.id}
          options={runs.map(({ id, name }) => [id, name])}
          set={distributionRun.set}
        />
      )}
      {hasTensors && (
        <Check isOn={tensorsToo.isOn} set={tensorsToo.set}>
          Tensors
        </Check>
      )}
      {shown.length > 0 && (
        <Segments label="Counts of the distributions" {...countScale} />
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
      {shown.map(({ kind, name, holders }) => (
        <Distribution
          key={`${kind} ${name}`}
          kind={kind}
          name={name}
          holder={holders.find(({ run }) => run.id === distributionRun.value) ?? holders[0]!}
          isNamed={chosen.value.length > 1}
        />
      ))}
    </Group>
  );
}
