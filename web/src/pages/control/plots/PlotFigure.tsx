/** A plot with its title, its legend with the last values or those at the cursor, and what can be done with it. */
import { computed, type ReadonlySignal, useComputed } from "@preact/signals";
import { useRef } from "preact/hooks";
import { isConnected } from "../../../data/connection";
import { about, control } from "../../../data/control";
import { formatValue } from "../../../data/format";
import * as runs from "../../../data/runs";
import { ChartBody, onEscape } from "../../../plot/scalars/ChartFigure";
import { type Subject, useChartModel } from "../../../plot/scalars/Plot";
import {
  type ChartRun,
  describePlace,
  describeReading,
  type End,
  type Line,
  type Model,
  readingsAt,
  slotOf,
} from "../../../plot/scalars/model";
import { type Axis, options } from "../../../plot/scalars/options";
import { type Chart, placeOfCursor } from "../../../plot/scalars/state";
import { formatTicks } from "../../../plot/ticks";
import { useNear } from "../../../ui/useWidth";

/** More lines behind each other are no lines any more. */
export const MOST_BEHIND = 24;

/** As text, so that it changes only when it does, and not with every trial. */
const runsText = computed(() => JSON.stringify(chartRuns()));

function chartRuns(): ChartRun[] {
  const now = control.value;
  if (now === null) return [];
  const earlier = now.run_ids.filter((id) => id !== now.run_id).slice(-MOST_BEHIND);
  const ids = now.run_id === "" ? earlier : [...earlier, now.run_id];
  return ids.map((id, at): ChartRun => {
    const isBehind = id !== now.run_id;
    return { id, name: nameOf(id, at), slot: 1, end: isBehind ? "plain" : endOf(now.listing.state), isBehind };
  });
}

/** A run that has just begun may be on no list yet. */
export function nameOf(runId: string, at: number): string {
  return runs.runsById.value.get(runId)?.name ?? `run ${at}`;
}

function endOf(state: string): End {
  if (!isConnected.value) return state === "done" ? "plain" : "lost";
  return state === "died" || state === "failed" ? "died" : "plain";
}

const perEpoch = computed(() => {
  const count = control.value?.listing.counters.num_trials ?? null;
  return count !== null && count > 0 ? count : null;
});

export const subject: Subject = {
  runs: computed(() => JSON.parse(runsText.value) as readonly ChartRun[]),
  perEpoch,
  // What it will have is not known beforehand: a test may still come.
  has: () => true,
};

/** One for each plot that the training wants. Titles may be anybody's: the key tells them apart. */
export const charts = computed<readonly Chart[]>(() =>
  (about.value?.plots ?? []).map(({ title, lines }, at): Chart => {
    const members = lines.map(({ name, label }) => ({ name, label: label || name }));
    return { key: `plot ${at} ${title}`, title, fullTitle: title, form: "keyed", members, isAsked: true };
  }),
);

interface Props {
  chart: Chart;
  isEnlarged: boolean;
}

const axisWord = computed(() => axisName(options.value.axis, subject.perEpoch.value));

/** A plot. */
export function PlotFigure({ chart, isEnlarged }: Props) {
  const box = useRef<HTMLElement>(null);
  const isNear = useNear(box);
  return (
    <figure ref={box} class="control-plot" aria-label={`${chart.fullTitle} over ${axisWord.value}`} onKeyDown={onEscape}>
      {isNear ? (
        <Live chart={chart} isEnlarged={isEnlarged} />
      ) : (
        <figcaption>
          <b class="clip">{chart.title}</b>
        </figcaption>
      )}
    </figure>
  );
}

function Live({ chart, isEnlarged }: Props) {
  const built = useChartModel(chart, isEnlarged, subject);
  const model = useComputed(() => withWholeTicks(built.value));
  // The name of the figure says it, too.
  const axis = (
    <div class="plot-axis" aria-hidden="true">
      {axisWord}
    </div>
  );
  return (
    <ChartBody chart={chart} model={model} under={axis}>
      <Legend chart={chart} model={model} />
    </ChartBody>
  );
}

/** Where the cursor was put, and what the lines are there. Every line has its place, also before it has any value. */
function Legend({ chart, model }: { chart: Chart; model: ReadonlySignal<Model | null> }) {
  const [now, place] = [model.value, placeOfCursor(chart.key)];
  const readings = now === null ? [] : readingsAt(now, place);
  const read = new Map(readings.map((reading) => [reading.line.member.name, reading]));
  return (
    <>
      {place !== null && now !== null && (
        <span class="muted fs-1 plot-cursor">{describePlace(place, now.axis, now.perEpoch)}</span>
      )}
      <span class="grow" />
      <span class="plot-legend">
        {chart.members.map((member) => {
          const reading = read.get(member.name);
          return (
            <span key={member.name} title={reading === undefined ? `${member.name}: no value` : describeReading(reading)}>
              <i class="sw" style={{ background: `var(--cat-${slotOf(chart, member)})` }} />
              <span class="clip">{member.label}</span>
              {reading !== undefined && (
                <b class={Number.isFinite(reading.value) ? undefined : "bad"}>{formatValue(reading.value, 3)}</b>
              )}
            </span>
          );
        })}
      </span>
    </>
  );
}

// --- The axes of a plot of a training: what the lower one counts, and whole ticks for what is counted.

export function axisName(axis: Axis, perEpoch: number | null): string {
  if (axis !== "step") return "time";
  return perEpoch === null ? "trials" : "epochs";
}

/** There is no half an error: where all values are whole numbers, so are the ticks. */
export function withWholeTicks(model: Model | null): Model | null {
  if (model?.lines.every(isWhole) !== true) return model;
  const whole = model.yTicks.map(({ value }) => value).filter(Number.isInteger);
  if (whole.length === 0) return model;
  const labels = formatTicks(whole);
  return { ...model, yTicks: whole.map((value, at) => ({ value, label: labels[at]! })) };
}

/** Of several points in one, the least and the most are points. */
function isWhole({ curve: { low, high } }: Line): boolean {
  return [low, high].every((values) => values.every((value) => Number.isInteger(value) || !Number.isFinite(value)));
}
