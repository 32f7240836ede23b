/** The receptive field of a unit by its responses: what the input, or any layer, looks like when it responds. */
import { useMemo, useState } from "preact/hooks";
import { formatCount, formatValue } from "../../data/format";
import { layerOf } from "../../data/network/network-state";
import * as net from "../../data/network/store";
import { unitName } from "../../data/network/words";
import { setParams } from "../../data/route";
import { themeTick } from "../../data/store";
import type { Asked } from "../../data/useAsked";
import { ColourScale } from "../../plot/ColourScale";
import { Segments } from "../../ui/controls";
import type { NetLayer } from "../../wire";
import { Figure, PlatePicture } from "./Figure";
import {
  above,
  chooseUnit,
  chosenScale,
  type ChosenScale,
  first,
  isTable,
  minusMean,
  second,
  source,
  unitOf,
  variable,
} from "./choice";
import { type Analysed, items, singlesOf, useAnalysis } from "./items";
import { paintColours, paintPlate, rangeOf, readNumberInks } from "./pixels";

type Answered = Analysed<"net_field">;

export function FieldView() {
  const both = [first.value, second.value];
  const from = source.value;
  const asked = [useField(both[0]!, from), useField(both[1] ?? null, from)];
  const fields = [useNumbers(asked[0]!.value), useNumbers(asked[1]!.value)];
  const ranges = fields.map((field, at) => (field === null ? null : rangeOf(drawnOf(layerOf(asked[at]!.value?.own.source), field))));
  const range = rangeOf(ranges.flatMap((one, at) => (one === null || both[at] === null ? [] : [one.min, one.max])));
  const scale = chosenScale(`field:${from?.name ?? ""}:${minusMean.value}`, range);
  return (
    <>
      <div class="an-figures">
        {both.map((layer, at) =>
          layer === null ? null : (
            <LayerFigure key={at} layer={layer} asked={asked[at]!} field={fields[at] ?? null} scale={scale} />
          ),
        )}
      </div>
      <div class="an-below">
        <div class="an-scale">
          <span class="muted fs-1">{isColour(from) ? "Dark to bright over all three colours" : `Mean of ${from?.name ?? "the source"}, by response${from?.grid.is_colour === true ? ", over three colours" : ""}`}</span>
          {!isColour(from) && <ColourScale scale={scale.scale} isAuto={scale.isAuto} onChange={scale.set} />}
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

interface FigureProps {
  layer: NetLayer;
  asked: Asked<Answered>;
  field: Float32Array | null;
  scale: ChosenScale;
}

function LayerFigure({ layer, asked: { value, problem, retry }, field, scale }: FigureProps) {
  const unit = unitOf(layer);
  const isIts = value?.layer.name === layer.name;
  const isChosen = unit !== null;
  return (
    <Figure
      layer={layer}
      problem={isChosen ? problem : ""}
      retry={retry}
      isReady={!isChosen || isIts}
      isOld={isChosen && isIts && (value.items !== items.value || value.own.unit !== unit)}
      note={value?.head.note ?? ""}
      facts={isChosen && value !== null && <Facts value={value} />}
    >
      <div class="an-pair">
        <UnitChoice layer={layer} unit={unit} />
        <Answer value={isChosen ? value : null} field={field} scale={scale} />
      </div>
    </Figure>
  );
}

/** Until the next has come, the field is that of the unit and over the layer that were asked for before. */
function Answer({ value, field, scale }: { value: Answered | null; field: Float32Array | null; scale: ChosenScale }) {
  const from = layerOf(value?.own.source);
  if (value === null || field === null || from?.grid.num_units !== field.length) {
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
  return <FieldPicture name={unitName(value.layer, value.own.unit)} from={from} field={field} scale={scale} />;
}

/** Without its mean a picture in colour is no picture any more: then numbers have the colours. */
function isColour(from: NetLayer | null): boolean {
  return from?.grid.is_colour === true && !minusMean.value;
}

function useField(layer: NetLayer | null, from: NetLayer | null) {
  const unit = layer === null ? null : unitOf(layer);
  const own = unit === null || from === null ? null : { unit, source: from.name, above: above.value, minus_mean: minusMean.value };
  return useAnalysis("net_field", layer, own);
}

function useNumbers(value: Answered | null): Float32Array | null {
  return useMemo(() => (value === null ? null : singlesOf(value.bytes, value.head.num_units)), [value]);
}

function Facts({ value }: { value: Answered }) {
  const { num_responses: responds, num_items: count, low, high } = value.head;
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
  const [pointed, setPointed] = useState<number | null>(null);
  const block = net.values.value.get(layer.name);
  const tick = themeTick.value;
  const values = useMemo(
    () => Float64Array.from({ length: layer.grid.num_units }, (_, one) => (block === undefined ? NaN : (net.valueOf(block, one) ?? NaN))),
    [block, layer],
  );
  const { scale } = chosenScale(`choice:${layer.name}`, rangeOf(values));
  const plate = useMemo(() => paintPlate(layer.grid, values, scale, readNumberInks(scale.map)), [values, scale.low, scale.high, tick]);
  const one = pointed ?? unit;
  return (
    <div class="an-part">
      <PlatePicture
        grid={layer.grid}
        plate={plate}
        summary={`Units of ${layer.name}, ${variable.value} of the item that is shown. Arrows choose a unit.`}
        chosen={unit}
        onPoint={setPointed}
        onChoose={(next) => chooseUnit(layer, next)}
      />
      <p class="an-reading">
        {one === null ? `Units, by ${variable.value} now` : `${unitName(layer, one)}: ${formatValue(values[one] ?? NaN, 4)} now`}
      </p>
    </div>
  );
}

interface PictureProps {
  name: string;
  from: NetLayer;
  field: Float32Array;
  scale: ChosenScale;
}

function FieldPicture({ name, from, field, scale: { scale } }: PictureProps) {
  const [pointed, setPointed] = useState<number | null>(null);
  const tick = themeTick.value;
  const hasColours = isColour(from);
  const plate = useMemo(() => {
    if (hasColours) return paintColours(from.grid, field);
    return paintPlate(from.grid, drawnOf(from, field), scale, readNumberInks(scale.map));
  }, [field, from, hasColours, scale.low, scale.high, scale.map, tick]);
  if (isTable.value) return <UnitTable from={from} field={field} />;
  return (
    <div class="an-part">
      <PlatePicture
        grid={from.grid}
        plate={plate}
        summary={`Receptive field of ${name} over ${from.name}.`}
        chosen={null}
        onPoint={setPointed}
        onChoose={null}
      />
      <p class="an-reading">{pointed === null ? `On ${from.name}` : `${unitName(from, pointed)}: ${valueText(from, field, pointed)}`}</p>
    </div>
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
  return (
    <div class="an-table" role="region" aria-label="Table of units" tabIndex={0}>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Unit of {from.name}, largest first</th>
            <th scope="col">Field</th>
          </tr>
        </thead>
        <tbody>
          {order.map((unit) => (
            <tr key={unit}>
              <th scope="row">{unitName({ ...from, grid: { ...from.grid, is_colour: false } }, unit)}</th>
              <td>{formatValue(field[unit]!, 4)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {field.length > MOST && <p class="muted fs-1">{formatCount(field.length - MOST)} more units are not in the table.</p>}
    </div>
  );
}
