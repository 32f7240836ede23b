/** A look at the values of a layer: samples by units, sorted by label; one unit and one sample beside each other. */
import { useMemo, useState } from "preact/hooks";
import { formatCount, formatNumberOf, formatValue } from "../../../data/format";
import { indexOf } from "../../../data/network/words";
import { askOf } from "../../../data/requests";
import { param, setParams } from "../../../data/route";
import { useAsked } from "../../../data/useAsked";
import { ColourScale } from "../../../plot/ColourScale";
import { type Cell, Matrix } from "../../../plot/Matrix";
import { Legend } from "../../../plot/labels";
import { Blank } from "../../../ui/Blank";
import type { FeatureLayer, FeatureMapAnswer } from "../../../wire";
import { Failure, Figure, Wait } from "../Figure";
import { chosenScale } from "../choice";
import { singlesOf } from "../items";
import { SamplePart } from "./SamplePart";
import { MOST_BESIDE } from "./SimilarityView";
import { UnitPart } from "./UnitPart";
import * as store from "./store";
import { basisText, placeText, sampleName, shapeText } from "./words";

/** As many as there are pixels for, about. */
export const NUM_ROWS = 320;
const NUM_COLUMNS = 512;
interface Values {
  readonly head: FeatureMapAnswer;
  readonly values: Float32Array;
  readonly layer: number;
}

export function ValuesView() {
  const [set, at, layer] = [store.setId.value, store.layerAt.value, store.layer.value];
  const done = store.listing.value?.num_done ?? 0;
  const { value, problem, retry } = useAsked<Values>(
    layer === null
      ? null
      : {
          key: JSON.stringify([set, at]),
          version: String(done),
          ask: async () => {
            const asked = { set_id: set, layer: at, num_rows: NUM_ROWS, num_columns: NUM_COLUMNS };
            const reply = await askOf({ type: "feature_map", ...asked }, "feature_map");
            const { rows, units } = reply.answer;
            return { head: reply.answer, values: singlesOf(reply, rows.samples.length * units.length), layer: at };
          },
        },
  );
  if (layer === null) return <Blank icon="tree" title="This set has no layers" />;
  if (value?.layer === at) return <Shown key={at} of={value} layer={layer} />;
  return problem === "" ? <Wait /> : <Failure title={`${layer.name} cannot be shown`} problem={problem} retry={retry} />;
}

function Shown({ of: { head, values }, layer }: { of: Values; layer: FeatureLayer }) {
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
          summary={`Values of ${layer.name}: ${rows.samples.length} samples by ${units.length} units, from ${formatValue(low ?? Number.NaN, 3)} to ${formatValue(high ?? Number.NaN, 3)}. Arrows move, Enter chooses the sample and the unit.`}
        />
      </Figure>
      <p class="an-reading">{readingOf(pointed, head, values, layer)}</p>
      <div class="ft-pair">
        <UnitPart unit={unit} numUnits={head.num_units} layer={layer} />
        <SamplePart sample={sample} layer={layer} scale={scale.scale} />
      </div>
      <div class="an-below">
        <div class="an-scale">
          <ColourScale {...scale} />
        </div>
        {rows.labels.length > MOST_BESIDE && <Legend of={rows} />}
      </div>
    </>
  );
}

/** Null where the text is no such number. */
export function numberOf(text: string, below: number): number | null {
  return /^\d{1,15}$/.test(text) && Number(text) < below ? Number(text) : null;
}

function readingOf(at: Cell | null, { rows, units }: FeatureMapAnswer, values: Float32Array, layer: FeatureLayer) {
  if (at === null) return <span class="muted">Point at a cell to read it; click it to see its unit and its sample below.</span>;
  const unit = units[at.column] ?? 0;
  return (
    <>
      <b>{sampleName(rows, at.row)}</b>
      <span>
        unit {formatCount(unit)} {placeText(indexOf(layer.shape, unit))}
      </span>
      <span>{formatValue(values[at.row * units.length + at.column] ?? Number.NaN, 4)}</span>
    </>
  );
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
