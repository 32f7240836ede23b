/** One unit over samples, sorted by label: a point for each, the mean of each label as a line. */
import { formatCount, formatValue } from "../../../data/format";
import { sentence } from "../../../data/network/words";
import { askOf } from "../../../data/requests";
import { setParams } from "../../../data/route";
import { useAsked } from "../../../data/useAsked";
import { formatTicks, linearTicks } from "../../../plot/ticks";
import { useSize } from "../../../ui/useSize";
import type { FeatureLayer, FeatureUnitAnswer } from "../../../wire";
import { singlesOf } from "../items";
import { labelColour, rangeOf, stretchesOf } from "../pixels";
import { NUM_ROWS } from "./ValuesView";
import * as store from "./store";
import { placeText } from "./words";

interface Unit {
  readonly head: FeatureUnitAnswer;
  readonly values: Float32Array;
  readonly unit: number;
}

interface Props {
  unit: number;
  numUnits: number;
  layer: FeatureLayer;
}

export function UnitPart({ unit, numUnits, layer }: Props) {
  const [set, at] = [store.setId.value, store.layerAt.value];
  const { value, problem } = useAsked<Unit>({
    key: JSON.stringify([set, at, unit]),
    version: String(store.listing.value?.num_done ?? 0),
    ask: async () => {
      const asked = { set_id: set, layer: at, num_rows: NUM_ROWS, unit };
      const reply = await askOf({ type: "feature_unit", ...asked }, "feature_unit");
      return { head: reply.answer, values: singlesOf(reply, reply.answer.rows.samples.length), unit };
    },
  });
  return (
    <section class="ft-part" aria-label={`Unit ${unit}`} aria-busy={value?.unit !== unit && problem === ""}>
      <header>
        <h3>Unit</h3>
        <input
          class="input sm num ft-number"
          type="number"
          aria-label="Unit"
          min={0}
          max={numUnits - 1}
          value={unit}
          onChange={(event) => setParams({ unit: event.currentTarget.value })}
        />
        <span class="muted fs-1 clip">
          {value?.unit === unit && placeText(value.head.place)} of {formatCount(numUnits)} in {layer.name}
        </span>
      </header>
      {problem !== "" && <p class="hint">{sentence(problem)}</p>}
      {value !== null && <Chart of={value} />}
    </section>
  );
}

const [LEFT, EDGE, BOTTOM] = [44, 8, 20];
const LEAST_NAMED = 22;

function Chart({ of: { head, values, unit } }: { of: Unit }) {
  const [box, room] = useSize<HTMLDivElement>();
  const [width, height] = [Math.floor(room.width), Math.floor(room.height)];
  const { rows } = head;
  const { min, max } = rangeOf([0, ...values]) ?? { min: 0, max: 1 };
  const high = max > min ? max : min + 1;
  const y = (value: number): number => height - BOTTOM - ((value - min) / (high - min)) * (height - BOTTOM - EDGE);
  const x = (row: number): number => LEFT + ((row + 0.5) / Math.max(1, values.length)) * (width - LEFT - EDGE);
  const ticks = linearTicks({ low: min, high }, 4);
  const texts = formatTicks(ticks);
  const stretches = rows.labels.length === 0 ? [] : stretchesOf(rows.samples.map((_, at) => at), { label_of: [...rows.label_of] });
  const means = stretches.map(({ from, count }) => meanOf(values.subarray(from, from + count)));
  return (
    <div class="an-room" ref={box}>
      {width > 0 && height > 0 && (
        <svg class="an-chart" width={width} height={height} role="img" aria-label={summaryOf(unit, head, means)}>
          {ticks.map((tick, at) => (
            <g key={tick}>
              <path class="grid" d={`M${LEFT} ${Math.round(y(tick)) + 0.5}H${width - EDGE}`} />
              <text class="e" x={LEFT - 6} y={y(tick) + 4}>
                {texts[at]}
              </text>
            </g>
          ))}
          {[...values].map((value, row) =>
            Number.isFinite(value) ? (
              <circle key={row} cx={x(row)} cy={y(value)} r={1.75} fill={labelColour(rows.label_of[row], rows.labels.length)} />
            ) : null,
          )}
          {stretches.map(({ label, from, count }, at) => {
            const [start, end] = [x(from - 0.5), x(from + count - 0.5)];
            const mean = means[at]!;
            return (
              <g key={at}>
                {Number.isFinite(mean) && <path class="ft-mean" d={`M${start + 1} ${y(mean)}H${end - 1}`} />}
                {end - start >= LEAST_NAMED && (
                  <text class="c" x={(start + end) / 2} y={height - 6}>
                    {(rows.labels[label ?? 0] ?? "").slice(0, Math.floor((end - start) / 6.5))}
                  </text>
                )}
              </g>
            );
          })}
        </svg>
      )}
    </div>
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
