/** A plot with its title, its legend with the last values or those at the cursor, and what can be done with it. */
import { computed, type ReadonlySignal, useComputed } from "@preact/signals";
import { useRef } from "preact/hooks";
import { formatValue } from "../../../data/format";
import { ChartBody, onEscape } from "../../../plot/scalars/ChartFigure";
import { useChartModel } from "../../../plot/scalars/Plot";
import { describePlace, describeReading, type Line, type Model, readingsAt, slotOf } from "../../../plot/scalars/model";
import { type Axis, options } from "../../../plot/scalars/options";
import { type Chart, placeOfCursor } from "../../../plot/scalars/state";
import { formatTicks } from "../../../plot/ticks";
import { useNear } from "../../../ui/useWidth";
import { subject } from "./subject";

interface Props {
  chart: Chart;
  isEnlarged: boolean;
}

/** What the axis of all plots counts. */
const axisWord = computed(() => axisName(options.value.axis, subject.perEpoch.value));

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
      <Place model={model} chartKey={chart.key} />
      <span class="grow" />
      <Legend chart={chart} model={model} />
    </ChartBody>
  );
}

/** Where the pointer or the keyboard has put the cursor. */
function Place({ model, chartKey }: { model: ReadonlySignal<Model | null>; chartKey: string }) {
  const place = placeOfCursor(chartKey);
  const now = model.value;
  if (place === null || now === null) return null;
  return <span class="muted fs-1 plot-cursor">{describePlace(place, now.axis, now.perEpoch)}</span>;
}

/** Every line has its place there, also before it has any value. */
function Legend({ chart, model }: { chart: Chart; model: ReadonlySignal<Model | null> }) {
  const now = model.value;
  const readings = now === null ? [] : readingsAt(now, placeOfCursor(chart.key));
  const read = new Map(readings.map((reading) => [reading.line.member.name, reading]));
  return (
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
  );
}

// --- The axes of a plot of a training: what the lower one counts, and whole ticks for what is counted.

/** In a word. */
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
