/** A look at the values of a layer: samples by units, sorted by label; one unit and one sample beside each other. */
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { formatCount, formatNumberOf, formatShare, formatValue } from "../../data/format";
import { indexOf, sentence } from "../../data/network/words";
import type { ReplyOf } from "../../data/requests";
import { param, setParams } from "../../data/route";
import type { Asked } from "../../data/source";
import { useReply } from "../../data/useAsked";
import { type Cell, Matrix } from "../../plot/Matrix";
import { labelColour, Legend, type Stretch, stretchesOf } from "../../plot/labels";
import { Blank, Failed, Hint } from "../../ui/Blank";
import { readPalette, type Scale } from "../../ui/colour-scale";
import type { Room } from "../../ui/useSize";
import type { FeatureLayer, FeatureMapAnswer, FeatureSampleAnswer, FeatureUnitAnswer, Grid } from "../../wire";
import { axisWithZero, Chart, Figure, Plate, Reading, ScaleNote, Wait } from "./Figure";
import { MOST_BESIDE } from "./Similarity";
import { paintPlate } from "./ItemViews";
import { chosenScale } from "./choice";
import { basisText, layer as shownLayer, layerAt, numDone, placeText, sampleName, setId, shapeText } from "./features";
import { singlesOf } from "./network";

/** As many as there are pixels for, about. */
const NUM_ROWS = 320;
const NUM_COLUMNS = 512;

type Asking = "feature_map" | "feature_unit" | "feature_sample";

/** Ask for numbers of the layer that is shown, and anew with each `version`. */
function useNumbers<Type extends Asking>(
  type: Type,
  own: Omit<Extract<Asked, { type: Type }>, "type" | "set_id" | "layer">,
  version: number,
  countOf: (head: ReplyOf<Type>["answer"]) => number,
) {
  const about = { set_id: setId.value, layer: layerAt.value, ...own } as unknown as Omit<Extract<Asked, { type: Type }>, "type">;
  return useReply(type, layerAt.value < 0 ? null : about, (reply) => singlesOf(reply, countOf(reply.answer)), String(version));
}

export function ValuesView() {
  const [at, layer] = [layerAt.value, shownLayer.value];
  const own = { num_rows: NUM_ROWS, num_columns: NUM_COLUMNS };
  const { value, problem, retry } = useNumbers("feature_map", own, numDone.value, ({ rows, units }) => rows.samples.length * units.length);
  if (layer === null) return <Blank icon="tree" title="This set has no layers" />;
  if (value?.own.layer === at) return <Shown key={at} head={value.head} values={value.data} layer={layer} />;
  return problem === "" ? <Wait /> : <Failed title={`${layer.name} cannot be shown`} reason={sentence(problem)} retry={retry} />;
}

function Shown({ head, values, layer }: { head: FeatureMapAnswer; values: Float32Array; layer: FeatureLayer }) {
  const [pointed, setPointed] = useState<Cell | null>(null);
  const { rows, units, low, high } = head;
  const best = useMemo(() => busiest(values, units.length), [values]);
  const unit = numberOf(param("unit"), head.num_units) ?? units[best] ?? 0;
  const sample = numberOf(param("sample"), Number.MAX_SAFE_INTEGER) ?? rows.samples[0] ?? 0;
  const scale = chosenScale(`features ${layer.name}`, low === null || high === null ? null : { min: low, max: high });
  const some = units.length < head.num_units ? `${formatCount(units.length)} of ${formatNumberOf(head.num_units, "unit")}, evenly chosen` : formatNumberOf(head.num_units, "unit");
  return (
    <>
      <Figure
        label={`Values of ${layer.name}`}
        name={layer.name}
        isBusy={false}
        look="ft-map"
        facts={
          <>
            {shapeText(layer.shape)} · {basisText(rows.samples.length, rows.num_done)} down · {some} across
            {head.num_bad > 0 && ` · ${formatNumberOf(head.num_bad, "value")} NaN or infinite`}
          </>
        }
      >
        <Matrix
          values={values}
          numRows={rows.samples.length}
          numColumns={units.length}
          of={rows}
          isSquare={false}
          scale={scale.scale}
          at={pointed}
          onAt={setPointed}
          onChoose={({ row, column }) => setParams({ unit: String(units[column]), sample: String(rows.samples[row]) })}
          chosen={{ row: rows.samples.indexOf(sample), column: units.indexOf(unit) }}
          summary={`Values of ${layer.name}: ${rows.samples.length} samples by ${units.length} units, ${rangeText(head)}. Arrows move, Enter chooses the sample and the unit.`}
        />
      </Figure>
      <Reading
        hint="Point at a cell to read it; click it to see its unit and its sample below."
        parts={pointed && readingOf(pointed, head, values, layer)}
      />
      <div class="ft-pair">
        <UnitPart unit={unit} numUnits={head.num_units} layer={layer} />
        <SamplePart sample={sample} layer={layer} scale={scale.scale} />
      </div>
      <div class="an-below">
        <ScaleNote of={scale} />
        {rows.labels.length > MOST_BESIDE && <Legend of={rows} />}
      </div>
    </>
  );
}

function rangeText({ low, high }: { low: number | null; high: number | null }): string {
  return `from ${formatValue(low ?? Number.NaN, 3)} to ${formatValue(high ?? Number.NaN, 3)}`;
}

export function numberOf(text: string, below: number): number | null {
  return /^\d{1,15}$/.test(text) && Number(text) < below ? Number(text) : null;
}

function readingOf(at: Cell, { rows, units }: FeatureMapAnswer, values: Float32Array, layer: FeatureLayer): string[] {
  const unit = units[at.column] ?? 0;
  const value = values[at.row * units.length + at.column] ?? Number.NaN;
  return [sampleName(rows, at.row), `unit ${formatCount(unit)} ${placeText(indexOf(layer.shape, unit))}`, formatValue(value, 4)];
}

/** The column that varies most: one where there is something to see. */
export function busiest(values: Float32Array, numColumns: number): number {
  let [best, most] = [0, -1];
  for (let column = 0; column < numColumns; column++) {
    let [sum, squares, count] = [0, 0, 0];
    for (let at = column; at < values.length; at += numColumns) {
      const value = values[at]!;
      if (!Number.isFinite(value)) continue;
      sum += value;
      squares += value * value;
      count += 1;
    }
    const spread = count === 0 ? 0 : squares / count - (sum / count) ** 2;
    if (spread > most) [best, most] = [column, spread];
  }
  return best;
}

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
function Part({ name, number, max, isBusy, problem, facts, children }: PartProps) {
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
      <Hint text={problem === "" ? "" : sentence(problem)} />
      {children}
    </section>
  );
}

const LEAST_NAMED = 22;

/** One unit over samples, sorted by label: a point for each, the mean of each label as a line. */
function UnitPart({ unit, numUnits, layer }: { unit: number; numUnits: number; layer: FeatureLayer }) {
  const { value, problem } = useNumbers("feature_unit", { num_rows: NUM_ROWS, unit }, numDone.value, ({ rows }) => rows.samples.length);
  const isIts = value?.own.unit === unit;
  const facts = `${isIts ? placeText(value.head.place) : ""} of ${formatCount(numUnits)} in ${layer.name}`;
  return (
    <Part name="Unit" number={unit} max={numUnits - 1} isBusy={!isIts} problem={problem} facts={facts}>
      {value !== null && <Responses head={value.head} values={value.data} unit={value.own.unit} />}
    </Part>
  );
}

function Responses({ head, values, unit }: { head: FeatureUnitAnswer; values: Float32Array; unit: number }) {
  const { labels, label_of: labelOf, samples } = head.rows;
  const stretches = labels.length === 0 ? [] : stretchesOf(labelOf, samples.length);
  const means = stretches.map(({ from, count }) => meanOf(values.subarray(from, from + count)));
  return (
    <Chart
      label={unitSummary(unit, head, means)}
      x={(room) => {
        const pitch = room / Math.max(1, values.length);
        const named = stretches.filter(({ count }) => count * pitch >= LEAST_NAMED);
        const nameOf = ({ label, count }: Stretch): string => (labels[label ?? 0] ?? "").slice(0, Math.floor((count * pitch) / 6.5));
        return { low: 0, high: Math.max(1, values.length), ticks: named.map((one) => ({ value: one.from + one.count / 2, label: nameOf(one) })) };
      }}
      y={axisWithZero(values, 4)}
    >
      {({ x, y }) => (
        <>
          {[...values].map(
            (value, row) =>
              Number.isFinite(value) && <circle key={row} cx={x(row + 0.5)} cy={y(value)} r={1.75} fill={labelColour(labelOf[row], labels.length)} />,
          )}
          {stretches.map(
            ({ from, count }, at) =>
              Number.isFinite(means[at]) && <path key={at} class="ft-mean" d={`M${x(from) + 1} ${y(means[at]!)}H${x(from + count) - 1}`} />,
          )}
        </>
      )}
    </Chart>
  );
}

function meanOf(values: Float32Array): number {
  const finite = values.filter(Number.isFinite);
  return finite.reduce((sum, one) => sum + one, 0) / finite.length;
}

function unitSummary(unit: number, { rows }: FeatureUnitAnswer, means: readonly number[]): string {
  const best = means.reduce((most, mean, at) => (mean > (means[most] ?? -Infinity) ? at : most), 0);
  const label = rows.labels[best];
  const said = label === undefined || means.length === 0 ? "" : `; its mean is highest for ${label}, ${formatValue(means[best]!, 3)}`;
  return `Unit ${unit} over ${rows.samples.length} samples${said}.`;
}

interface SampleProps {
  head: FeatureSampleAnswer;
  values: Float32Array;
  summary: string;
}

/** One sample over all units of a layer: as a picture where the layer has planes, else as a line. */
function SamplePart({ sample, layer, scale }: { sample: number; layer: FeatureLayer; scale: Scale }) {
  const { value, problem } = useNumbers("feature_sample", { sample }, 0, ({ units, num_units: all }) => units.length || all);
  if (value === null) return <Part name="Sample" number={sample} isBusy problem={problem} facts="" children={null} />;
  const { head, data: values } = value;
  const facts = (
    <>
      {head.name !== String(head.sample) && `${head.name} `}
      {head.label !== "" && `label ${head.label} · `}
      {figuresOf(head)}
    </>
  );
  const summary = `${layer.name} for sample ${head.sample}: ${formatCount(head.num_units)} values ${rangeText(head)}.`;
  const isWhole = head.units.length === 0;
  return (
    <Part name="Sample" number={sample} isBusy={head.sample !== sample} problem={problem} facts={facts}>
      {values.length > 0 && (head.shape.length < 2 || !isWhole) && <Line values={values} summary={summary} />}
      {values.length > 0 && head.shape.length >= 2 && isWhole && <Planes head={head} values={values} scale={scale} summary={summary} />}
    </Part>
  );
}

function figuresOf({ mean, std, num_zeros: zeros, num_units: all }: FeatureSampleAnswer): string {
  if (mean === null || std === null) return "no finite values";
  return `mean ${formatValue(mean, 3)}, std ${formatValue(std, 3)}, zeros ${formatShare(zeros, all)}`;
}

function Planes({ head, values, scale, summary }: SampleProps & { scale: Scale }) {
  return (
    <Plate
      grid={(room) => planesOf(head.shape, room)}
      paint={(grid) => paintPlate(grid, values, scale, readPalette(scale.map))}
      by={[values, scale.low, scale.high, scale.map]}
      summary={summary}
      largest={LARGEST_CELL}
    />
  );
}

function Line({ values, summary }: Omit<SampleProps, "head">) {
  const last = values.length - 1;
  return (
    <Chart
      label={summary}
      x={() => ({ low: 0, high: values.length, ticks: [{ value: 0, label: "unit 0" }, { value: values.length, label: formatCount(last) }] })}
      y={axisWithZero(values, 4)}
    >
      {({ left, right, y }) => {
        // A stem for each; of more than there are pixels, the farthest from nought of each pixel.
        const room = Math.max(1, right - left);
        const count = Math.min(values.length, Math.floor(room));
        const gap = room / count;
        const from = (at: number): number => Math.floor((at * values.length) / count);
        const stems = Array.from({ length: count }, (_, at) => farthest(values, from(at), from(at + 1)));
        const pathOf = (value: number, at: number): string =>
          Number.isFinite(value) ? `M${(left + (at + 0.5) * gap).toFixed(1)} ${y(0)}V${y(value).toFixed(1)}` : "";
        return <path class="ft-stems" style={{ strokeWidth: `${Math.max(1, Math.min(12, gap - 1))}px` }} d={stems.map(pathOf).join("")} />;
      }}
    </Chart>
  );
}

function farthest(values: Float32Array, from: number, to: number): number {
  let best = values[from] ?? Number.NaN;
  for (let at = from + 1; at < to; at++) if (Math.abs(values[at]!) > Math.abs(best)) best = values[at]!;
  return best;
}

const LARGEST_CELL = 16;

/** Where the values of one sample stand in a picture: its planes beside each other, so many that values are largest. */
export function planesOf(shape: readonly number[], room: Room): Grid {
  const [rows, columns] = [Math.max(1, shape.at(-2) ?? 1), Math.max(1, shape.at(-1) ?? 1)];
  const count = Math.max(1, shape.slice(0, -2).reduce((product, size) => product * size, 1));
  let [across, largest] = [1, 0];
  for (let perLine = 1; perLine <= count; perLine++) {
    const cell = Math.min(room.width / (perLine * (columns + 1)), room.height / (Math.ceil(count / perLine) * (rows + 1)));
    if (cell > largest) [across, largest] = [perLine, cell];
  }
  const size = { num_units: count * rows * columns, tiles_across: across, tiles_down: Math.ceil(count / across) };
  return { ...size, columns, rows, gap: 1, is_colour: false };
}
