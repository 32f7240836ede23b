/** Units of a network: what each of them responds to, and what the input looks like when it does. */
import { signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { formatCount, formatValue } from "../../data/format";
import { layerOf } from "../../data/network/network-state";
import * as net from "../../data/network/store";
import { unitName } from "../../data/network/words";
import { NumberTable } from "../../plot/NumberTable";
import type { Picture } from "../../ui/Pixels";
import { labelColour, Mark, MIXED_SHARE } from "../../plot/labels";
import { cellOf, plateSize } from "../../stage3d/network/plates";
import { mix } from "../../stage3d/points/colours";
import { Check } from "../../ui/Check";
import { type Palette, paintValue, rangeOf, readPalette, type Rgb, type Scale, themeColours } from "../../ui/colour-scale";
import { Segments } from "../../ui/controls";
import type { Grid, NetLayer } from "../../wire";
import { axisWithZero, Below, Chart, LayerFigures, Levels, nearestOf, Plate, ReadingLine, ScaleNote } from "./Figure";
import { chosenScale, lessMean, table } from "./choice";
import { above, type Analysed, chooseUnit, current, fieldSource, type Items, items, singlesOf, unitOf, useAnalysis, useBoth, variable } from "./network";

const WORDS = [
  ["best", "Best label"],
  ["selectivity", "Selectivity"],
  ["dprime", "d′"],
] as const;
type Shown = (typeof WORDS)[number][0];

const shown = signal<Shown>("selectivity");

type Tuned = Record<Shown, Float32Array>;
type Tuning = Analysed<"net_tuning", Tuned>;

/** What units respond to: the best label and the selectivity of all of them, and one of them in detail. */
export function TuningView() {
  const all = items.value;
  const hasNone = all !== null && all.labels.length < 2;
  const looks = useBoth("net_tuning", () => (hasNone ? null : {}), (reply): Tuned => {
    const count = reply.answer.num_units;
    const column = (at: number): Float32Array => singlesOf(reply, count, 4 * count * at);
    return { best: column(0), selectivity: column(1), dprime: column(2) };
  });
  const what = shown.value;
  const scale = chosenScale(`tuning:${what}`, rangeOf(looks.flatMap(({ value }) => [...(value?.data[what] ?? [])])));
  if (hasNone) return <NoLabels />;
  return (
    <>
      <LayerFigures looks={looks} draw={(value) => value !== null && <TunedUnits value={value} scale={scale.scale} />} />
      <ReadingLine />
      <Below>
        <Segments label="Shown of all units" words={WORDS} chosen={what} choose={(one) => (shown.value = one)} />
        {what !== "best" && (
          <ScaleNote of={scale} said={what === "dprime" ? "d′ of the best label" : "0: all labels alike, 1: one alone"}>
            <span class="muted fs-1">Grey: not defined, as where a unit is silent</span>
          </ScaleNote>
        )}
      </Below>
    </>
  );
}

function NoLabels() {
  return (
    <div class="blank">
      <b>Tuning needs labels</b>
      <span>Two different ones at least. Choose at the left where they come from, or write them beside the layers:</span>
      <pre>{`view.update(x, label="cat")              # of all items of a moment\nview.run.log_tensor(step, "labels", y)   # of each item of the batch`}</pre>
    </div>
  );
}

function TunedUnits({ value, scale }: { value: Tuning; scale: Scale }) {
  const { layer, items: all, data: tuned } = value;
  const what = shown.value;
  const paint = (): Picture => {
    if (what !== "best") return paintPlate(layer.grid, tuned[what], scale, readPalette(scale.map));
    const colours = all.labels.map((_, label) => readLabelColour(label, all.labels.length));
    return paintKinds(layer.grid, tuned.best, colours, readPalette("seq").none);
  };
  const unit = unitOf(layer);
  return (
    <div class="an-pair">
      <Plate
        grid={layer.grid}
        paint={paint}
        by={[value, what, scale.low, scale.high, scale.map]}
        summary={`${WORDS.find(([word]) => word === what)![1]} of ${layer.grid.num_units} units of ${layer.name}. Arrows choose a unit.`}
        read={(one) => unitText(layer, tuned, all.labels, one)}
        chosen={unit}
        onChoose={(one) => chooseUnit(layer, one)}
      />
      <div class="an-part">
        {unit === null ? <p class="muted fs-2 an-hint">Click a unit to see what it responds to.</p> : <OneUnit layer={layer} unit={unit} />}
      </div>
    </div>
  );
}

function unitText(layer: NetLayer, { best, selectivity, dprime }: Tuned, labels: readonly string[], unit: number | null): string {
  if (unit === null) return "Point at a unit to read it.";
  const label = labels[best[unit] ?? -1] ?? "none";
  return `${unitName(layer, unit)}: best “${label}”, selectivity ${formatValue(selectivity[unit]!, 3)}, d′ ${formatValue(dprime[unit]!, 3)}`;
}

interface Responses {
  readonly responses: Float32Array;
  /** By label; empty where there are none. */
  readonly means: Float32Array;
  readonly dPrimes: Float32Array;
}

type Unit = Analysed<"net_unit_tuning", Responses>;

/** What one unit responds to each label: the mean as a bar, each item as a point. */
function OneUnit({ layer, unit }: { layer: NetLayer; unit: number }) {
  const look = useAnalysis("net_unit_tuning", layer, { unit }, (reply, of): Responses => {
    const [count, numLabels] = [reply.answer.places.length, of.labels.length];
    const numbers = singlesOf(reply, count + 2 * numLabels);
    return { responses: numbers.slice(0, count), means: numbers.slice(count, count + numLabels), dPrimes: numbers.slice(count + numLabels) };
  });
  if (look?.problem !== "") {
    return (
      <p class="hint" role="alert">
        {look?.problem}
      </p>
    );
  }
  if (look.value === null) return <i class="skeleton late" />;
  const { head, data, items: all } = look.value;
  if (!table.isOn || all.labels.length === 0) return <Bars name={unitName(layer, unit)} value={look.value} />;
  return (
    <NumberTable
      label="Table of labels"
      head={["Label", "Items", "Mean", "d′"]}
      rows={all.labels.map((label, at) => [
        label,
        formatCount(head.counts[at]!),
        formatValue(data.means[at]!, 4),
        formatValue(data.dPrimes[at]!, 4),
      ])}
    />
  );
}

const [LEFT, EDGE, BOTTOM] = [52, 12, 22];
const LEAST_NAMED = 26;
const REACH = 12;

function Bars({ name, value: { head, data, items: all } }: { name: string; value: Unit }) {
  const { labels } = all;
  const numBars = Math.max(1, labels.length);
  const means = labels.length > 0 ? `, with the mean of each of ${labels.length} labels` : "";
  return (
    <Chart
      summary={`Responses of ${name} to ${head.places.length} items${means}.`}
      items={all}
      order={head.places}
      draw={(width, height) => {
        const pitch = (width - LEFT - EDGE) / numBars;
        const axis = axisWithZero([...data.responses, ...data.means], height - BOTTOM, EDGE);
        const y = axis.at;
        const spots = spotsOf(head.places, all).map(({ place, bar }, at) => ({ place, x: LEFT + bar * pitch, y: y(data.responses[at]!) }));
        const picture = (
          <>
            <Levels of={axis} left={LEFT} right={width - EDGE} />
            {[...data.means].map((mean, label) => (
              <g key={label}>
                {Number.isFinite(mean) && (
                  <rect
                    class="an-mean"
                    x={LEFT + (label + 0.12) * pitch}
                    width={Math.max(1, pitch * 0.76)}
                    y={Math.min(y(mean), y(0))}
                    height={Math.max(1, Math.abs(y(mean) - y(0)))}
                    fill={labelColour(label, numBars)}
                  />
                )}
                {pitch >= LEAST_NAMED && (
                  <text class="c" x={LEFT + (label + 0.5) * pitch} y={height - 6}>
                    {labels[label]!.slice(0, Math.floor(pitch / 6.5))}
                  </text>
                )}
              </g>
            ))}
            <path class="base" d={`M${LEFT} ${Math.round(y(0)) + 0.5}H${width - EDGE}`} />
            {spots.map(({ place, ...spot }) => {
              const isOn = place === current.value;
              return <Mark key={place} {...spot} size={isOn ? 5 : 3} label={all.label_of[place]} numLabels={numBars} isOn={isOn} />;
            })}
          </>
        );
        return { picture, itemAt: (left, top) => nearestOf(spots, left, top, REACH) };
      }}
    />
  );
}

/** Points beside each other: where they stand in a bar says nothing but which item it is. */
function spotsOf(places: readonly number[], { label_of: labelOf }: Items): { place: number; bar: number }[] {
  const counted = new Map<number, number>();
  return places.map((place) => {
    const label = labelOf[place] ?? 0;
    const number = counted.get(label) ?? 0;
    counted.set(label, number + 1);
    return { place, bar: label + ((number * 0.618034) % 1) * 0.6 + 0.2 };
  });
}

type Field = Analysed<"net_field", Float32Array>;

/** The receptive field of a unit by its responses: what the input, or any layer, looks like when it responds. */
export function FieldView() {
  const from = fieldSource.value;
  const looks = useBoth(
    "net_field",
    (layer) => {
      const unit = unitOf(layer);
      return unit === null || from === null ? null : { unit, source: from.name, above: above.chosen, minus_mean: lessMean.isOn };
    },
    (reply) => singlesOf(reply, reply.answer.num_units),
  );
  const drawn = looks.flatMap(({ value }) => (value === null ? [] : [...drawnOf(layerOf(value.own.source), value.data)]));
  const scale = chosenScale(`field:${from?.name ?? ""}:${lessMean.isOn}`, rangeOf(drawn));
  const colours = from?.grid.is_colour === true ? ", over three colours" : "";
  return (
    <>
      <LayerFigures
        looks={looks}
        facts={({ head }) => <Counted {...head} />}
        draw={(value, at) => (
          <div class="an-pair">
            <UnitChoice layer={looks[at]!.layer} unit={unitOf(looks[at]!.layer)} />
            <FieldPicture value={value} scale={scale.scale} />
          </div>
        )}
      />
      <div class="an-below">
        {isColour(from) ? (
          <div class="an-scale">
            <span class="muted fs-1">Dark to bright over all three colours</span>
          </div>
        ) : (
          <ScaleNote of={scale} said={`Mean of ${from?.name ?? "the source"}, by response${colours}`} />
        )}
        <span class="an-axis">
          <span class="muted">Responses count above</span>
          <Segments label="Responses count above" {...above} />
        </span>
        <Check hint="What is particular to the unit: the plain mean over all items is taken away" {...lessMean}>
          Less the mean of all items
        </Check>
      </div>
    </>
  );
}

/** Without its mean a picture in colour is no picture any more: then numbers have the colours. */
function isColour(from: NetLayer | null): boolean {
  return from?.grid.is_colour === true && !lessMean.isOn;
}

function Counted({ num_responses: responds, num_items: count, low, high }: Field["head"]) {
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

/** Until the next has come, the field is that of the unit and over the layer that were asked for before. */
function FieldPicture({ value, scale }: { value: Field | null; scale: Scale }) {
  const from = layerOf(value?.own.source);
  if (value === null || from?.grid.num_units !== value.data.length) {
    return <p class="muted fs-2 an-hint">Click a unit to see what goes with its responses.</p>;
  }
  const { head, own, data: field } = value;
  const name = unitName(value.layer, own.unit);
  if (head.num_responses === 0) {
    return (
      <p class="muted fs-2 an-hint">
        {name} is above {own.above === "zero" ? "zero" : "its mean"} for none of {formatCount(head.num_items)} items: it has no field.
      </p>
    );
  }
  if (table.isOn) return <UnitTable from={from} field={field} />;
  const hasColours = isColour(from);
  return (
    <Plate
      grid={from.grid}
      paint={() => (hasColours ? paintColours(from.grid, field) : paintPlate(from.grid, drawnOf(from, field), scale, readPalette(scale.map)))}
      by={[field, hasColours, scale.low, scale.high, scale.map]}
      summary={`Receptive field of ${name} over ${from.name}.`}
      read={(unit) => (unit === null ? `On ${from.name}` : `${unitName(from, unit)}: ${valueText(from, field, unit)}`)}
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
  const size = from.grid.rows * from.grid.columns;
  return Float32Array.from({ length: size }, (_, at) => (field[at]! + field[size + at]! + field[2 * size + at]!) / 3);
}

const MOST = 100;

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

// --- Numbers of units as pixels, each where it lies on the plate of its layer.

type Pixels = Picture["pixels"];

/** Between tiles it is clear. Of a colour picture there is one unit for each place. */
function painted(grid: Grid, count: number, paint: (pixels: Pixels, at: number, unit: number) => void): Picture {
  const { columns: width, rows: height } = plateSize(grid);
  const pixels = new Uint8ClampedArray(4 * width * height);
  const most = grid.is_colour ? grid.rows * grid.columns * grid.tiles_across * grid.tiles_down : count;
  for (let unit = 0; unit < Math.min(count, most); unit++) {
    const { column, row } = cellOf(grid, unit);
    paint(pixels, 4 * (row * width + column), unit);
  }
  return { width, height, pixels };
}

export function paintPlate(grid: Grid, values: ArrayLike<number>, scale: Scale, palette: Palette): Picture {
  return painted(grid, values.length, (pixels, at, unit) => paintValue(pixels, at, values[unit]!, scale, palette));
}

/** A colour picture, from the darkest to the brightest of its numbers. */
export function paintColours(grid: Grid, values: ArrayLike<number> & Iterable<number>): Picture {
  const { min, max } = rangeOf(values) ?? { min: 0, max: 0 };
  const size = grid.rows * grid.columns;
  return painted(grid, size, (pixels, at, unit) => {
    for (const map of [0, 1, 2]) {
      const value = values[map * size + unit] ?? 0;
      pixels[at + map] = max > min ? (255 * (value - min)) / (max - min) : 128;
    }
    pixels[at + 3] = 255;
  });
}

/** Each unit in a colour of its own. */
export function paintKinds(grid: Grid, kinds: ArrayLike<number>, colours: readonly Rgb[], none: Rgb): Picture {
  return painted(grid, kinds.length, (pixels, at, unit) => pixels.set([...(colours[kinds[unit]!] ?? none), 255], at));
}

/** The colour of a label as the theme that is on now has it. */
function readLabelColour(label: number, numLabels: number): Rgb {
  const [colour, mixed] = (labelColour(label, numLabels).match(/--[\w-]+/g) ?? []).map(themeColours());
  return mixed === undefined ? colour! : mix(colour!, mixed, 1 - MIXED_SHARE);
}
