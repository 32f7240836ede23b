/** Items of a network in a layer: along its components, as a tree; what its units respond to, and what the input is like then. */
import { signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { formatCount, formatValue } from "../../data/format";
import { layerOf } from "../../data/network/network-state";
import * as net from "../../data/network/store";
import { unitName } from "../../data/network/words";
import { NumberTable } from "../../plot/NumberTable";
import type { Picture } from "../../ui/Pixels";
import type { Space } from "../../plot/SmallChart";
import { labelColour, Mark, MIXED_SHARE } from "../../plot/labels";
import { type Axis, axisOf } from "../../plot/scale";
import { cellOf, plateSize } from "../../stage3d/network/plates";
import { mix } from "../../stage3d/points/colours";
import { Blank, Hint } from "../../ui/Blank";
import { Check } from "../../ui/Check";
import { SelectField } from "../../ui/Select";
import { paintValue, type Palette, rangeOf, readPalette, type Rgb, type Scale, themeColours } from "../../ui/colour-scale";
import { Segments } from "../../ui/controls";
import type { Grid, NetLayer } from "../../wire";
import { axisWithZero, ItemChart, ItemView, LayerFigures, nearestOf, Plate, ScaleNote } from "./Figure";
import { ItemLink } from "./Similarity";
import { chosenScale, lessMean, table } from "./choice";
import { above, type Analysed, chooseUnit, current, doublesOf, fieldSource, itemName, type Items, items, labelOf, metric, singlesOf, unitOf, useAnalysis, useBoth, variable } from "./network";

const NUM_COMPONENTS = 6;
const MOST_ROWS = 200;

const axes = signal<readonly number[]>([0, 1]);

type Components = Analysed<"net_components", readonly Float32Array[]>;

export function ComponentsView() {
  const looks = useBoth("net_components", () => ({ num_components: NUM_COMPONENTS }), (reply) => {
    const { places, shares } = reply.answer;
    const numbers = singlesOf(reply, places.length * shares.length);
    return shares.map((_, column) => Float32Array.from(places, (_place, row) => numbers[row * shares.length + column]!));
  });
  return (
    <ItemView
      looks={looks}
      facts={({ head }) => <Shares shares={head.shares} />}
      draw={(value) => (table.isOn ? <ItemTable value={value} /> : <Scatter value={value} />)}
    >
      <div class="an-axes">
        {["Across", "Up"].map((name, which) => (
          <SelectField
            key={name}
            style="an-axis"
            name={name}
            look="input sm"
            value={String(axes.value[which])}
            options={Array.from({ length: NUM_COMPONENTS }, (_, at) => [String(at), componentName(at)])}
            set={(text) => (axes.value = axes.peek().with(which, Number(text)))}
          />
        ))}
      </div>
    </ItemView>
  );
}

function componentName(at: number): string {
  return `Component ${at + 1}`;
}

function percent(share: number): string {
  return `${formatValue(100 * share, 3)} %`;
}

/** How much of the variance each component takes, as small bars. */
function Shares({ shares }: { shares: readonly number[] }) {
  if (shares.length === 0) return <span class="muted">All items are the same to this layer.</span>;
  const sum = shares.reduce((total, share) => total + share, 0);
  return (
    <span class="an-shares" title={shares.map((share, at) => `${at + 1}: ${percent(share)}`).join("\n")}>
      <span class="muted">Share of the variance</span>
      <svg width={shares.length * 12} height={18} aria-hidden="true">
        {shares.map((share, at) => (
          <rect key={at} x={at * 12} y={17 - 16 * share} width={9} height={16 * share + 1} fill="var(--text-2)" />
        ))}
      </svg>
      <span>
        {shares.length === 1 ? "one" : `first ${shares.length}`}: {percent(sum)}
      </span>
    </span>
  );
}

function ItemTable({ value: { head, data, items: all } }: { value: Components }) {
  const shown = head.places.slice(0, MOST_ROWS);
  const hasLabels = all.labels.length > 0;
  return (
    <NumberTable
      label="Table of items"
      head={["Item", ...(hasLabels ? ["Label"] : []), ...data.map((_, at) => componentName(at))]}
      rows={shown.map((place, row) => [
        <ItemLink key={place} all={all} place={place} name={itemName(all, place)} />,
        ...(hasLabels ? [labelOf(all, place)] : []),
        ...data.map((values) => formatValue(values[row]!, 4)),
      ])}
      left={[head.places.length - shown.length, "items"]}
    />
  );
}

/** So near a point has to be to be meant. */
const REACH = 14;

function Scatter({ value: { head, data, items: all, layer } }: { value: Components }) {
  const { places, shares } = head;
  const none = new Float32Array(places.length);
  const [across, up] = axes.value as [number, number];
  const [xs, ys] = [data[across] ?? none, data[up] ?? none];
  const title = (at: number): string => `${componentName(at)}: ${at < shares.length ? percent(shares[at]!) : "nothing varies"}`;
  const spotsIn = ({ x, y }: Space) => places.map((place, at) => ({ place, x: x(xs[at]!), y: y(ys[at]!) }));
  const xAxis = roomyAxis(xs);
  return (
    <ItemChart
      label={`${places.length} items of ${layer.name} along ${title(across)} and ${title(up)} of the variance. Arrows move, Enter shows the item in the network.`}
      items={all}
      order={places}
      itemAt={(spot) => nearestOf(spotsIn(spot.space), spot, REACH)}
      x={() => xAxis}
      y={roomyAxis(ys)}
      titles={[title(across), title(up)]}
      over={(space) => {
        const spots = spotsIn(space);
        const on = spots.filter(({ place }) => place === current.value);
        return [...spots, ...on].map((spot, at) => {
          const isOn = at >= spots.length;
          return <Mark key={at} x={spot.x} y={spot.y} size={isOn ? 6 : 4} label={all.label_of[spot.place]} numLabels={all.labels.length} isOn={isOn} />;
        });
      }}
    >
      {({ x, top, bottom }) => xAxis.ticks.map(({ value }) => <path key={value} class="grid" d={`M${x(value)} ${top}V${bottom}`} />)}
    </ItemChart>
  );
}

/** With a little room at both ends, so that no point is cut off. */
export function roomyAxis(values: Iterable<number>): Axis {
  const { min, max } = rangeOf(values) ?? { min: 0, max: 0 };
  const room = (max - min) * 0.04 || Math.abs(max) * 0.1 || 1;
  return axisOf({ low: min - room, high: max + room });
}

// --- The items as a tree: those that are most alike are joined first.

type Clusters = Analysed<"net_similarity", readonly Join[]>;

export function ClustersView() {
  const kind = metric.chosen;
  const looks = useBoth("net_similarity", () => ({ metric: kind }), (reply): readonly Join[] => {
    const { leaves, by_tree: standing } = reply.answer;
    const at = new Map(standing.map((place, one) => [place, one]));
    const tree = doublesOf(reply, 4 * Math.max(0, leaves.length - 1));
    return joinsOf(tree, leaves.map((place) => at.get(place) ?? 0));
  });
  return (
    <ItemView
      looks={looks}
      facts={() => <span class="muted">Joined by the mean distance of their members</span>}
      draw={(value) => <Tree value={value} />}
    />
  );
}

function Tree({ value }: { value: Clusters }) {
  const joins = value.data;
  if (joins.length === 0) {
    return (
      <Blank icon="tree" title="There is no tree">
        <span>It takes two items at least whose likeness is defined. The euclidean metric is defined for all.</span>
      </Blank>
    );
  }
  if (!table.isOn) return <Dendrogram value={value} />;
  const last = joins.slice(-MOST_ROWS).reverse();
  return (
    <NumberTable
      label="Table of clusters"
      head={["Clusters left", "Distance of the two that are joined", "Items joined"]}
      rows={last.map(({ distance, count }, at) => [formatCount(at + 1), formatValue(distance, 4), formatCount(count)])}
    />
  );
}

const [LEFT, EDGE, BAND, LINE, MOST_LETTERS, LETTER] = [52, 12, 10, 13, 12, 7];

function Dendrogram({ value: { data: joins, items: all, head, layer } }: { value: Clusters }) {
  const order = head.by_tree;
  const names = order.map((place) => (labelOf(all, place) || itemName(all, place)).slice(0, MOST_LETTERS));
  const longest = Math.max(...names.map(({ length }) => length));
  const most = Math.max(...joins.map(({ distance }) => distance), 1e-12);
  const at = current.value === null ? -1 : order.indexOf(current.value);
  const hasNames = (width: number): boolean => (width - LEFT - EDGE) / order.length >= LINE;
  return (
    <ItemChart
      label={`Tree of ${order.length} items of ${layer.name}, joined up to a distance of ${formatValue(most, 3)}. Arrows move, Enter shows the item in the network.`}
      items={all}
      order={order}
      itemAt={({ x, space }) => order[Math.floor((x - LEFT) / (space.x(1) - space.x(0)))] ?? null}
      x={() => ({ low: 0, high: order.length, ticks: [] })}
      y={axisOf({ low: 0, high: most })}
      titles={["", metric.chosen === "euclidean" ? "Distance" : `1 − ${metric.chosen}`]}
      edges={(width) => ({ left: LEFT, right: EDGE, top: EDGE, bottom: BAND + EDGE + (hasNames(width) ? longest * LETTER : 0) })}
      over={({ x, bottom, width }) => {
        const pitch = x(1) - x(0);
        return (
          <>
            {order.map((place, one) => (
              <g key={place}>
                <rect
                  x={x(one)}
                  y={bottom + 3}
                  width={Math.max(1, pitch - (pitch > 3 ? 1 : 0))}
                  height={BAND}
                  fill={all.labels.length > 0 ? labelColour(all.label_of[place], all.labels.length) : "var(--line-2)"}
                />
                {hasNames(width) && (
                  <text class="e" transform={`translate(${x(one + 0.5) + 4} ${bottom + BAND + 8}) rotate(-90)`}>
                    {names[one]}
                  </text>
                )}
              </g>
            ))}
            {at >= 0 && <rect class="an-outline" x={x(at)} y={bottom + 2} width={Math.max(3, pitch)} height={BAND + 2} />}
          </>
        );
      }}
    >
      {({ x, y }) => <path class="an-tree" d={pathOf(joins, (place) => x(place + 0.5), y)} />}
    </ItemChart>
  );
}

/** A line of the tree that joins two others. */
interface Join {
  /** The two that are joined: where they stand, and how far down their line goes. */
  readonly left: number;
  readonly right: number;
  readonly leftBase: number;
  readonly rightBase: number;
  readonly distance: number;
  readonly count: number;
}

/**
 * `tree` in rows of four: two numbers, their distance, how many items. `standing`: for each leaf as the tree numbers
 * it, its place from the left.
 */
export function joinsOf(tree: Float64Array, standing: readonly number[]): Join[] {
  const places = [...standing];
  const bases = standing.map(() => 0);
  const joins: Join[] = [];
  for (let row = 0; row + 3 < tree.length; row += 4) {
    const [one, other, distance, count] = [tree[row]!, tree[row + 1]!, tree[row + 2]!, tree[row + 3]!];
    const [left, right] = places[one]! <= places[other]! ? [one, other] : [other, one];
    const [from, to] = [places[left]!, places[right]!];
    joins.push({ left: from, right: to, leftBase: bases[left]!, rightBase: bases[right]!, distance, count });
    places.push((from + to) / 2);
    bases.push(distance);
  }
  return joins;
}

/** As an SVG path; `x` of a place, `y` of a distance. */
export function pathOf(joins: readonly Join[], x: (place: number) => number, y: (distance: number) => number): string {
  const text = (value: number): string => value.toFixed(1);
  return joins
    .map(({ left, right, leftBase, rightBase, distance }) => {
      const top = text(y(distance));
      return `M${text(x(left))} ${text(y(leftBase))}V${top}H${text(x(right))}V${text(y(rightBase))}`;
    })
    .join("");
}

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
    <ItemView looks={looks} draw={(value) => <TunedUnits value={value} scale={scale.scale} />}>
      <Segments label="Shown of all units" words={WORDS} chosen={what} choose={(one) => (shown.value = one)} />
      {what !== "best" && (
        <ScaleNote of={scale} said={what === "dprime" ? "d′ of the best label" : "0: all labels alike, 1: one alone"}>
          <span class="muted fs-1">Grey: not defined, as where a unit is silent</span>
        </ScaleNote>
      )}
    </ItemView>
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
  if (look?.problem !== "") return <Hint text={look?.problem ?? ""} />;
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

const LEAST_NAMED = 26;

function Bars({ name, value: { head, data, items: all } }: { name: string; value: Unit }) {
  const { labels } = all;
  const numBars = Math.max(1, labels.length);
  const means = labels.length > 0 ? `, with the mean of each of ${labels.length} labels` : "";
  const bars = barsOf(head.places, all);
  const spotsIn = ({ x, y }: Space) => head.places.map((place, at) => ({ place, x: x(bars[at]!), y: y(data.responses[at]!) }));
  return (
    <ItemChart
      label={`Responses of ${name} to ${head.places.length} items${means}.`}
      items={all}
      order={head.places}
      itemAt={(spot) => nearestOf(spotsIn(spot.space), spot, REACH)}
      x={(room) => {
        const pitch = room / numBars;
        const ticks = labels.map((label, at) => ({ value: at + 0.5, label: label.slice(0, Math.floor(pitch / 6.5)) }));
        return { low: 0, high: numBars, ticks: pitch >= LEAST_NAMED ? ticks : [] };
      }}
      y={axisWithZero([...data.responses, ...data.means])}
      over={(space) =>
        spotsIn(space).map(({ place, ...spot }) => {
          const isOn = place === current.value;
          return <Mark key={place} {...spot} size={isOn ? 5 : 3} label={all.label_of[place]} numLabels={numBars} isOn={isOn} />;
        })
      }
    >
      {({ x, y, left, right }) => (
        <>
          {[...data.means].map(
            (mean, label) =>
              Number.isFinite(mean) && (
                <rect
                  key={label}
                  class="an-mean"
                  x={x(label + 0.12)}
                  width={Math.max(1, x(0.76) - x(0))}
                  y={Math.min(y(mean), y(0))}
                  height={Math.max(1, Math.abs(y(mean) - y(0)))}
                  fill={labelColour(label, numBars)}
                />
              ),
          )}
          <path class="base" d={`M${left} ${y(0)}H${right}`} />
        </>
      )}
    </ItemChart>
  );
}

/** Points beside each other: where they stand in a bar says nothing but which item it is. */
function barsOf(places: readonly number[], { label_of: labelOf }: Items): number[] {
  const counted = new Map<number, number>();
  return places.map((place) => {
    const label = labelOf[place] ?? 0;
    const number = counted.get(label) ?? 0;
    counted.set(label, number + 1);
    return label + ((number * 0.618034) % 1) * 0.6 + 0.2;
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

export function paintKinds(grid: Grid, kinds: ArrayLike<number>, colours: readonly Rgb[], none: Rgb): Picture {
  return painted(grid, kinds.length, (pixels, at, unit) => pixels.set([...(colours[kinds[unit]!] ?? none), 255], at));
}

/** The colour of a label as the theme that is on now has it. */
function readLabelColour(label: number, numLabels: number): Rgb {
  const [colour, mixed] = (labelColour(label, numLabels).match(/--[\w-]+/g) ?? []).map(themeColours());
  return mixed === undefined ? colour! : mix(colour!, mixed, 1 - MIXED_SHARE);
}
