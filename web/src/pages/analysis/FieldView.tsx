/** The receptive field of a unit by its responses: what the input, or any layer, looks like when it responds. */
import { useMemo } from "preact/hooks";
import { formatCount, formatValue } from "../../data/format";
import { layerOf } from "../../data/network/network-state";
import * as net from "../../data/network/store";
import { unitName } from "../../data/network/words";
import { setParams } from "../../data/route";
import { ColourScale } from "../../plot/ColourScale";
import { NumberTable } from "../../plot/NumberTable";
import { rangeOf, readPalette, type Scale } from "../../ui/colour-scale";
import { Segments } from "../../ui/controls";
import type { NetLayer } from "../../wire";
import { LayerFigures, Plate } from "./Figure";
import { above, chooseUnit, chosenScale, isTable, minusMean, source, unitOf, variable } from "./choice";
import { type Analysed, singlesOf, useBoth } from "./items";
import { paintColours, paintPlate } from "./plates";

type Answered = Analysed<"net_field", Float32Array>;

export function FieldView() {
  const from = source.value;
  const looks = useBoth(
    "net_field",
    (layer) => {
      const unit = unitOf(layer);
      return unit === null || from === null ? null : { unit, source: from.name, above: above.value, minus_mean: minusMean.value };
    },
    (reply) => singlesOf(reply, reply.answer.num_units),
  );
  const drawn = looks.flatMap(({ value }) => (value === null ? [] : [...drawnOf(layerOf(value.own.source), value.data)]));
  const scale = chosenScale(`field:${from?.name ?? ""}:${minusMean.value}`, rangeOf(drawn));
  return (
    <>
      <LayerFigures
        looks={looks}
        facts={({ head }) => <Facts {...head} />}
        draw={(value, at) => (
          <div class="an-pair">
            <UnitChoice layer={looks[at]!.layer} unit={unitOf(looks[at]!.layer)} />
            <Answer value={value} scale={scale.scale} />
          </div>
        )}
      />
      <div class="an-below">
        <div class="an-scale">
          <span class="muted fs-1">{isColour(from) ? "Dark to bright over all three colours" : `Mean of ${from?.name ?? "the source"}, by response${from?.grid.is_colour === true ? ", over three colours" : ""}`}</span>
          {!isColour(from) && <ColourScale {...scale} />}
        </div>
        <span class="an-axis">
          <span class="muted">Responses count above</span>
          <Segments
            label="Responses count above"
            words={[
              ["zero", "zero"],
              ["mean", "their mean", "For units that respond below zero as well"],
            ]}
            chosen={above.value}
            choose={(word) => setParams({ above: word === "zero" ? null : word })}
          />
        </span>
        <label class="check" title="What is particular to the unit: the plain mean over all items is taken away">
          <input
            type="checkbox"
            checked={minusMean.value}
            onChange={(event) => setParams({ mean: event.currentTarget.checked ? null : "kept" })}
          />
          Less the mean of all items
        </label>
      </div>
    </>
  );
}

/** Until the next has come, the field is that of the unit and over the layer that were asked for before. */
function Answer({ value, scale }: { value: Answered | null; scale: Scale }) {
  const from = layerOf(value?.own.source);
  if (value === null || from?.grid.num_units !== value.data.length) {
    return <p class="muted fs-2 an-hint">Click a unit to see what goes with its responses.</p>;
  }
  if (value.head.num_responses === 0) {
    return (
      <p class="muted fs-2 an-hint">
        {unitName(value.layer, value.own.unit)} is above {value.own.above === "zero" ? "zero" : "its mean"} for none of{" "}
        {formatCount(value.head.num_items)} items: it has no field.
      </p>
    );
  }
  return <FieldPicture name={unitName(value.layer, value.own.unit)} from={from} field={value.data} scale={scale} />;
}

/** Without its mean a picture in colour is no picture any more: then numbers have the colours. */
function isColour(from: NetLayer | null): boolean {
  return from?.grid.is_colour === true && !minusMean.value;
}

function Facts({ num_responses: responds, num_items: count, low, high }: Answered["head"]) {
  if (responds === 0) return null;
  return (
    <span class="muted">
      {formatCount(responds)} of {formatCount(count)} items count
      {low !== null && high !== null && `; from ${formatValue(low, 3)} to ${formatValue(high, 3)}`}
    </span>
  );
}

/** The layer as it is in the network now: to choose a unit from. */
function UnitChoice({ layer, unit }: { layer: NetLayer; unit: number | null }) {
  const block = net.values.value.get(layer.name);
  const values = useMemo(
    () => Float64Array.from({ length: layer.grid.num_units }, (_, one) => (block === undefined ? NaN : (net.valueOf(block, one) ?? NaN))),
    [block, layer],
  );
  const { scale } = chosenScale(`choice:${layer.name}`, rangeOf(values));
  return (
    <Plate
      grid={layer.grid}
      paint={() => paintPlate(layer.grid, values, scale, readPalette(scale.map))}
      by={[values, scale.low, scale.high]}
      summary={`Units of ${layer.name}, ${variable.value} of the item that is shown. Arrows choose a unit.`}
      read={(one) => (one === null ? `Units, by ${variable.value} now` : `${unitName(layer, one)}: ${formatValue(values[one] ?? NaN, 4)} now`)}
      chosen={unit}
      onChoose={(next) => chooseUnit(layer, next)}
    />
  );
}

function FieldPicture({ name, from, field, scale }: { name: string; from: NetLayer; field: Float32Array; scale: Scale }) {
  const hasColours = isColour(from);
  if (isTable.value) return <UnitTable from={from} field={field} />;
  return (
    <Plate
      grid={from.grid}
      paint={() => (hasColours ? paintColours(from.grid, field) : paintPlate(from.grid, drawnOf(from, field), scale, readPalette(scale.map)))}
      by={[field, hasColours, scale.low, scale.high, scale.map]}
      summary={`Receptive field of ${name} over ${from.name}.`}
      read={(unit) => (unit === null ? `On ${from.name}` : `${unitName(from, unit)}: ${valueText(from, field, unit)}`)}
      chosen={null}
      onChoose={null}
    />
  );
}

function valueText({ grid }: NetLayer, field: Float32Array, unit: number): string {
  const maps = grid.is_colour ? [0, 1, 2] : [0];
  return maps.map((map) => formatValue(field[map * grid.rows * grid.columns + unit] ?? NaN, 4)).join(", ");
}

/** A number for each cell: of a place in a colour picture, the mean of its three. */
function drawnOf(from: NetLayer | null, field: Float32Array): Float32Array {
  if (from?.grid.is_colour !== true) return field;
  const { grid } = from;
  const size = grid.rows * grid.columns;
  return Float32Array.from({ length: size }, (_, at) => (field[at]! + field[size + at]! + field[2 * size + at]!) / 3);
}

const MOST = 100;

/** The units of the source with the largest values. */
function UnitTable({ from, field }: { from: NetLayer; field: Float32Array }) {
  const order = [...field.keys()].sort((one, other) => Math.abs(field[other]!) - Math.abs(field[one]!)).slice(0, MOST);
  // A unit of a colour picture is one of its three maps.
  const layer = { ...from, grid: { ...from.grid, is_colour: false } };
  return (
    <NumberTable
      label="Table of units"
      head={[`Unit of ${from.name}, largest first`, "Field"]}
      rows={order.map((unit) => [unitName(layer, unit), formatValue(field[unit]!, 4)])}
      left={[field.length - order.length, "units"]}
    />
  );
}
