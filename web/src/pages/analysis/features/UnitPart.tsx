/** One unit over samples, sorted by label: a point for each, the mean of each label as a line. */
import type { ComponentChildren } from "preact";
import { formatCount, formatValue } from "../../../data/format";
import { sentence } from "../../../data/network/words";
import { askOf } from "../../../data/requests";
import { setParams } from "../../../data/route";
import { useAsked } from "../../../data/useAsked";
import { labelColour, stretchesOf } from "../../../plot/labels";
import { rangeOf } from "../../../ui/colour-scale";
import type { FeatureLayer, FeatureUnitAnswer } from "../../../wire";
import { Chart, Levels } from "../Figure";
import { singlesOf } from "../items";
import { NUM_ROWS } from "./ValuesView";
import * as store from "./store";
import { placeText } from "./words";

interface PartProps {
  name: "Unit" | "Sample";
  /** The number of what is shown, which can be typed. */
  number: number;
  max?: number;
  isBusy: boolean;
  problem: string;
  facts: ComponentChildren;
  children: ComponentChildren;
}

/** One unit, or one sample, below the map of values. */
export function Part({ name, number, max, isBusy, problem, facts, children }: PartProps) {
  return (
    <section class="ft-part" aria-label={`${name} ${number}`} aria-busy={isBusy && problem === ""}>
      <header>
        <h3>{name}</h3>
        <input
          class="input sm num ft-number"
          type="number"
          aria-label={name}
          min={0}
          max={max}
          value={number}
          onChange={(event) => setParams({ [name.toLowerCase()]: event.currentTarget.value })}
        />
        <span class="muted fs-1 clip">{facts}</span>
      </header>
      {problem !== "" && <p class="hint">{sentence(problem)}</p>}
      {children}
    </section>
  );
}

export function UnitPart({ unit, numUnits, layer }: { unit: number; numUnits: number; layer: FeatureLayer }) {
  const [set, at] = [store.setId.value, store.layerAt.value];
  const { value, problem } = useAsked({
    key: JSON.stringify([set, at, unit]),
    version: String(store.listing.value?.num_done ?? 0),
    ask: async () => {
      const asked = { set_id: set, layer: at, num_rows: NUM_ROWS, unit };
      const reply = await askOf({ type: "feature_unit", ...asked }, "feature_unit");
      return { head: reply.answer, values: singlesOf(reply, reply.answer.rows.samples.length), unit };
    },
  });
  const isIts = value?.unit === unit;
  const facts = `${isIts ? placeText(value.head.place) : ""} of ${formatCount(numUnits)} in ${layer.name}`;
  return (
    <Part name="Unit" number={unit} max={numUnits - 1} isBusy={!isIts} problem={problem} facts={facts}>
      {value !== null && <Responses {...value} />}
    </Part>
  );
}

const BOTTOM = 20;
export const [LEFT, EDGE] = [44, 8];
const LEAST_NAMED = 22;

/** Where values stand in a chart so high, with nought in it. */
export function levelsOf(values: Float32Array, height: number) {
  const { min: low, max } = rangeOf([0, ...values])!;
  const high = max > low ? max : low + 1;
  return { low, high, y: (value: number): number => height - BOTTOM - ((value - low) / (high - low)) * (height - BOTTOM - EDGE) };
}

function Responses({ head, values, unit }: { head: FeatureUnitAnswer; values: Float32Array; unit: number }) {
  const { labels, label_of: labelOf, samples } = head.rows;
  const stretches = labels.length === 0 ? [] : stretchesOf(labelOf, samples.length);
  const means = stretches.map(({ from, count }) => meanOf(values.subarray(from, from + count)));
  return (
    <Chart
      summary={summaryOf(unit, head, means)}
      draw={(width, height) => {
        const levels = levelsOf(values, height);
        const x = (row: number): number => LEFT + ((row + 0.5) / Math.max(1, values.length)) * (width - LEFT - EDGE);
        const picture = (
          <>
            <Levels {...levels} most={4} left={LEFT} right={width - EDGE} />
            {[...values].map((value, row) =>
              Number.isFinite(value) ? (
                <circle key={row} cx={x(row)} cy={levels.y(value)} r={1.75} fill={labelColour(labelOf[row], labels.length)} />
              ) : null,
            )}
            {stretches.map(({ label, from, count }, at) => {
              const [start, end] = [x(from - 0.5), x(from + count - 0.5)];
              const mean = means[at]!;
              return (
                <g key={at}>
                  {Number.isFinite(mean) && <path class="ft-mean" d={`M${start + 1} ${levels.y(mean)}H${end - 1}`} />}
                  {end - start >= LEAST_NAMED && (
                    <text class="c" x={(start + end) / 2} y={height - 6}>
                      {(labels[label ?? 0] ?? "").slice(0, Math.floor((end - start) / 6.5))}
                    </text>
                  )}
                </g>
              );
            })}
          </>
        );
        return { picture };
      }}
    />
  );
}

function meanOf(values: Float32Array): number {
  const finite = values.filter(Number.isFinite);
  return finite.length === 0 ? Number.NaN : finite.reduce((sum, one) => sum + one, 0) / finite.length;
}

function summaryOf(unit: number, { rows }: FeatureUnitAnswer, means: readonly number[]): string {
  const best = means.reduce((most, mean, at) => (mean > (means[most] ?? -Infinity) ? at : most), 0);
  const label = rows.labels[best];
  const said = label === undefined || means.length === 0 ? "" : `; its mean is highest for ${label}, ${formatValue(means[best]!, 3)}`;
  return `Unit ${unit} over ${rows.samples.length} samples${said}.`;
}
