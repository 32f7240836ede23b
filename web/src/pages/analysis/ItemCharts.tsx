/** Items of a network along the directions in which a layer varies most, and as a tree of those that are most alike. */
import { signal } from "@preact/signals";
import { formatCount, formatValue } from "../../data/format";
import { NumberTable } from "../../plot/NumberTable";
import { labelColour, Mark } from "../../plot/labels";
import { formatTicks, linearTicks } from "../../plot/ticks";
import { Blank } from "../../ui/Blank";
import { Select } from "../../ui/Select";
import { rangeOf } from "../../ui/colour-scale";
import { axisOf, Below, Chart, LayerFigures, Levels, nearestOf, ReadingLine } from "./Figure";
import { ItemLink } from "./Similarity";
import { table } from "./choice";
import { type Analysed, current, doublesOf, itemName, labelOf, metric, singlesOf, useBoth } from "./network";

const NUM_COMPONENTS = 6;
const MOST_ROWS = 200;
const [LEFT, BOTTOM, EDGE] = [52, 40, 12];

const axes = signal<readonly [number, number]>([0, 1]);

/** A column for each component. */
type Components = Analysed<"net_components", readonly Float32Array[]>;

export function ComponentsView() {
  const looks = useBoth("net_components", () => ({ num_components: NUM_COMPONENTS }), (reply) => {
    const { places, shares } = reply.answer;
    const numbers = singlesOf(reply, places.length * shares.length);
    return shares.map((_, column) => Float32Array.from(places, (_place, row) => numbers[row * shares.length + column]!));
  });
  return (
    <>
      <LayerFigures
        looks={looks}
        facts={({ head }) => <Shares shares={head.shares} />}
        draw={(value) => value !== null && (table.isOn ? <ItemTable value={value} /> : <Scatter value={value} />)}
      />
      <ReadingLine />
      <Below>
        <div class="an-axes">
          {["Across", "Up"].map((name, which) => (
            <label key={name} class="an-axis">
              <span class="muted">{name}</span>
              <Select
                look="input sm"
                value={String(axes.value[which])}
                options={Array.from({ length: NUM_COMPONENTS }, (_, at) => [String(at), componentName(at)])}
                set={(text) => {
                  const [x, y] = axes.peek();
                  axes.value = which === 0 ? [Number(text), y] : [x, Number(text)];
                }}
              />
            </label>
          ))}
        </div>
      </Below>
    </>
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
  const [across, up] = axes.value;
  const [xs, ys] = [data[across] ?? none, data[up] ?? none];
  const title = (at: number): string => `${componentName(at)}: ${at < shares.length ? percent(shares[at]!) : "nothing varies"}`;
  return (
    <Chart
      summary={`${places.length} items of ${layer.name} along ${title(across)} and ${title(up)} of the variance. Arrows move, Enter shows the item in the network.`}
      items={all}
      order={places}
      draw={(width, height) => {
        const [x, y] = [roomyAxis(xs, LEFT, width - EDGE), roomyAxis(ys, height - BOTTOM, EDGE)];
        const ticks = linearTicks(x);
        const texts = formatTicks(ticks);
        const spots = places.map((place, at) => ({ place, x: x.at(xs[at]!), y: y.at(ys[at]!) }));
        const on = spots.filter(({ place }) => place === current.value);
        const picture = (
          <>
            {ticks.map((tick, at) => (
              <g key={tick}>
                <path class="grid" d={`M${Math.round(x.at(tick)) + 0.5} ${EDGE}V${height - BOTTOM}`} />
                <text class="c" x={x.at(tick)} y={height - BOTTOM + 16}>
                  {texts[at]}
                </text>
              </g>
            ))}
            <Levels of={y} left={LEFT} right={width - EDGE} />
            <text class="c title" x={(LEFT + width - EDGE) / 2} y={height - 6}>
              {title(across)}
            </text>
            <UprightTitle middle={(EDGE + height - BOTTOM) / 2}>{title(up)}</UprightTitle>
            {[...spots, ...on].map((spot, at) => {
              const isOn = at >= spots.length;
              return <Mark key={at} x={spot.x} y={spot.y} size={isOn ? 6 : 4} label={all.label_of[spot.place]} numLabels={all.labels.length} isOn={isOn} />;
            })}
          </>
        );
        return { picture, itemAt: (left, top) => nearestOf(spots, left, top, REACH) };
      }}
    />
  );
}

function UprightTitle({ middle, children }: { middle: number; children: string }) {
  return (
    <text class="c title" transform={`translate(11 ${middle}) rotate(-90)`}>
      {children}
    </text>
  );
}

/** With a little room at both ends, so that no point is cut off. */
export function roomyAxis(values: Iterable<number>, from: number, to: number) {
  const { min, max } = rangeOf(values) ?? { min: 0, max: 0 };
  const room = (max - min) * 0.04 || Math.abs(max) * 0.1 || 1;
  return axisOf(min - room, max + room, from, to);
}

type Clusters = Analysed<"net_similarity", readonly Join[]>;

/** The items as a tree: those that are most alike are joined first. */
export function ClustersView() {
  const kind = metric.chosen;
  const looks = useBoth("net_similarity", () => ({ metric: kind }), (reply): readonly Join[] => {
    const { leaves, by_tree: standing } = reply.answer;
    const at = new Map(standing.map((place, one) => [place, one]));
    const tree = doublesOf(reply, 4 * Math.max(0, leaves.length - 1));
    return joinsOf(tree, leaves.map((place) => at.get(place) ?? 0));
  });
  return (
    <>
      <LayerFigures
        looks={looks}
        facts={() => <span class="muted">Joined by the mean distance of their members</span>}
        draw={(value) => value !== null && <Tree value={value} />}
      />
      <ReadingLine />
      <Below />
    </>
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

const [BAND, LINE, MOST_LETTERS, LETTER] = [10, 13, 12, 7];

function Dendrogram({ value: { data: joins, items: all, head, layer } }: { value: Clusters }) {
  const order = head.by_tree;
  const names = order.map((place) => (labelOf(all, place) || itemName(all, place)).slice(0, MOST_LETTERS));
  const longest = Math.max(...names.map(({ length }) => length));
  const most = Math.max(...joins.map(({ distance }) => distance), 1e-12);
  const at = current.value === null ? -1 : order.indexOf(current.value);
  return (
    <Chart
      summary={`Tree of ${order.length} items of ${layer.name}, joined up to a distance of ${formatValue(most, 3)}. Arrows move, Enter shows the item in the network.`}
      items={all}
      order={order}
      draw={(width, height) => {
        const pitch = (width - LEFT - EDGE) / order.length;
        const hasNames = pitch >= LINE;
        const bottom = height - BAND - EDGE - (hasNames ? longest * LETTER : 0);
        const x = (place: number): number => LEFT + (place + 0.5) * pitch;
        const y = axisOf(0, most, bottom, EDGE);
        const picture = (
          <>
            <Levels of={y} left={LEFT} right={width - EDGE} />
            <UprightTitle middle={(EDGE + bottom) / 2}>{metric.chosen === "euclidean" ? "Distance" : `1 − ${metric.chosen}`}</UprightTitle>
            <path class="an-tree" d={pathOf(joins, x, y.at)} />
            {order.map((place, one) => (
              <g key={place}>
                <rect
                  x={LEFT + one * pitch}
                  y={bottom + 3}
                  width={Math.max(1, pitch - (pitch > 3 ? 1 : 0))}
                  height={BAND}
                  fill={all.labels.length > 0 ? labelColour(all.label_of[place], all.labels.length) : "var(--line-2)"}
                />
                {hasNames && (
                  <text class="e" transform={`translate(${x(one) + 4} ${bottom + BAND + 8}) rotate(-90)`}>
                    {names[one]}
                  </text>
                )}
              </g>
            ))}
            {at >= 0 && <rect class="an-outline" x={LEFT + at * pitch} y={bottom + 2} width={Math.max(3, pitch)} height={BAND + 2} />}
          </>
        );
        return { picture, itemAt: (left) => order[Math.floor((left - LEFT) / pitch)] ?? null };
      }}
    />
  );
}

interface Join {
  /** The two that are joined: where they stand, and how far down their line goes. */
  readonly left: number;
  readonly right: number;
  readonly leftBase: number;
  readonly rightBase: number;
  readonly distance: number;
  /** Items below it. */
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
