/** Where the items lie along the directions in which a layer varies most. */
import { signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { formatCount, formatValue } from "../../data/format";
import { formatTicks, linearTicks } from "../../plot/ticks";
import { useSize } from "../../ui/useSize";
import { Figure, goToItem, Legend, Mark, ReadingLine, stepItem } from "./Figure";
import { current, first, isTable, second } from "./choice";
import { type Analysed, itemName, type Items, items, labelOf, singlesOf, useAnalysis } from "./items";
import { labelColour, labelShape, rangeOf } from "./pixels";

const NUM_COMPONENTS = 6;

const axes = signal<readonly [number, number]>([0, 1]);

interface Placed {
  readonly places: readonly number[];
  readonly columns: readonly Float32Array[];
}

export function ComponentsView() {
  const asked = [
    useAnalysis("net_components", first.value, { num_components: NUM_COMPONENTS }),
    useAnalysis("net_components", second.value, { num_components: NUM_COMPONENTS }),
  ];
  const placed = [usePlaced(asked[0]!.value), usePlaced(asked[1]!.value)];
  const all = items.value;
  return (
    <>
      <div class="an-figures">
        {[first.value, second.value].map((layer, at) => {
          const { value, problem, retry } = asked[at]!;
          const its = placed[at] ?? null;
          if (layer === null) return null;
          const isIts = value?.layer.name === layer.name;
          return (
            <Figure
              key={at}
              layer={layer}
              problem={problem}
              retry={retry}
              isReady={isIts && its !== null}
              isOld={isIts && value.items !== all}
              note={value?.head.note ?? ""}
              facts={value !== null && <Shares shares={value.head.shares} />}
            >
              {value !== null && its !== null && <Picture value={value} its={its} />}
            </Figure>
          );
        })}
      </div>
      <ReadingLine />
      <div class="an-below">
        <div class="an-axes">
          <AxisChoice name="Across" which={0} />
          <AxisChoice name="Up" which={1} />
        </div>
        {all !== null && <Legend items={all} />}
      </div>
    </>
  );
}

function Picture({ value, its }: { value: Analysed<"net_components">; its: Placed }) {
  const { shares } = value.head;
  if (isTable.value) {
    const columns = its.columns.map((values, at) => ({ title: `Component ${at + 1}`, values }));
    return <ItemTable items={value.items} places={its.places} columns={columns} />;
  }
  const [across, up] = axes.value;
  const none = new Float32Array(its.places.length);
  const title = (at: number): string =>
    at < shares.length ? `Component ${at + 1}: ${percent(shares[at]!)}` : `Component ${at + 1}: nothing varies`;
  return (
    <Scatter
      points={{ places: its.places, x: its.columns[across] ?? none, y: its.columns[up] ?? none }}
      items={value.items}
      xTitle={title(across)}
      yTitle={title(up)}
      summary={`${its.places.length} items of ${value.layer.name} along ${title(across)} and ${title(up)} of the variance. Arrows move, Enter shows the item in the network.`}
    />
  );
}

function usePlaced(value: Analysed<"net_components"> | null): Placed | null {
  return useMemo(() => {
    if (value === null) return null;
    const { places, shares } = value.head;
    const numbers = singlesOf(value.bytes, places.length * shares.length);
    const columns = shares.map((_, column) => Float32Array.from(places, (_place, row) => numbers[row * shares.length + column]!));
    return { places, columns };
  }, [value]);
}

export function percent(share: number): string {
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

function AxisChoice({ name, which }: { name: string; which: 0 | 1 }) {
  return (
    <label class="an-axis">
      <span class="muted">{name}</span>
      <select
        class="input sm"
        value={String(axes.value[which])}
        onChange={(event) => {
          const next = Number(event.currentTarget.value);
          const [x, y] = axes.peek();
          axes.value = which === 0 ? [next, y] : [x, next];
        }}
      >
        {Array.from({ length: NUM_COMPONENTS }, (_, at) => (
          <option key={at} value={String(at)}>
            Component {at + 1}
          </option>
        ))}
      </select>
    </label>
  );
}

// --- Numbers of items in a table: each leads to its place in the network.

interface Column {
  readonly title: string;
  readonly values: ArrayLike<number>;
}

const MOST = 200;

function ItemTable({ items, places, columns }: { items: Items; places: readonly number[]; columns: readonly Column[] }) {
  return (
    <div class="an-table" role="region" aria-label="Table of items" tabIndex={0}>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Item</th>
            {items.labels.length > 0 && <th scope="col">Label</th>}
            {columns.map(({ title }) => (
              <th scope="col" key={title}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {places.slice(0, MOST).map((place, row) => (
            <tr key={place}>
              <th scope="row">
                <button class="link" title="Show in the network" onClick={() => goToItem(items, place)}>
                  {itemName(items, place)}
                </button>
              </th>
              {items.labels.length > 0 && <td>{labelOf(items, place)}</td>}
              {columns.map(({ title, values }) => (
                <td key={title}>{formatValue(values[row]!, 4)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {places.length > MOST && <p class="muted fs-1">{formatCount(places.length - MOST)} more items are not in the table.</p>}
    </div>
  );
}

// --- Items as points along two components.

interface Points {
  readonly places: readonly number[];
  readonly x: Float32Array;
  readonly y: Float32Array;
}

interface Props {
  points: Points;
  items: Items;
  xTitle: string;
  yTitle: string;
  summary: string;
}

const [LEFT, BOTTOM, EDGE] = [52, 40, 12];
/** So near a point has to be to be meant. */
const REACH = 14;

function Scatter({ points, items, xTitle, yTitle, summary }: Props) {
  const [box, room] = useSize<HTMLDivElement>();
  const [width, height] = [Math.floor(room.width), Math.floor(room.height)];
  const x = axisOf(points.x, LEFT, width - EDGE);
  const y = axisOf(points.y, height - BOTTOM, EDGE);
  const spots = points.places.map((place, at) => ({ place, x: x.at(points.x[at]!), y: y.at(points.y[at]!) }));
  const nearest = (event: PointerEvent): number | null => {
    const area = (event.currentTarget as Element).getBoundingClientRect();
    const [left, top] = [event.clientX - area.left, event.clientY - area.top];
    let [best, near] = [null as number | null, REACH];
    for (const spot of spots) {
      const far = Math.hypot(spot.x - left, spot.y - top);
      if (far < near) [best, near] = [spot.place, far];
    }
    return best;
  };
  const on = spots.find(({ place }) => place === current.value);
  const mark = (spot: (typeof spots)[number], isOn: boolean) => {
    const label = items.label_of[spot.place];
    const fill = labelColour(label, items.labels.length);
    return (
      <Mark key={spot.place} x={spot.x} y={spot.y} size={isOn ? 6 : 4} shape={labelShape(label, items.labels.length)} fill={fill} isOn={isOn} />
    );
  };
  return (
    <div class="an-room" ref={box}>
      {width > 0 && height > 0 && (
        <svg
          class="an-chart"
          width={width}
          height={height}
          role="img"
          aria-label={summary}
          tabindex={0}
          onPointerMove={(event) => (current.value = nearest(event))}
          onPointerLeave={() => (current.value = null)}
          onClick={() => current.peek() !== null && goToItem(items, current.peek()!)}
          onKeyDown={(event) => stepItem(event, points.places, items)}
        >
          {x.ticks.map(({ at, text }) => (
            <g key={text}>
              <path class="grid" d={`M${at} ${EDGE}V${height - BOTTOM}`} />
              <text class="c" x={at} y={height - BOTTOM + 16}>
                {text}
              </text>
            </g>
          ))}
          {y.ticks.map(({ at, text }) => (
            <g key={text}>
              <path class="grid" d={`M${LEFT} ${at}H${width - EDGE}`} />
              <text class="e" x={LEFT - 6} y={at + 4}>
                {text}
              </text>
            </g>
          ))}
          <text class="c title" x={(LEFT + width - EDGE) / 2} y={height - 6}>
            {xTitle}
          </text>
          <text class="c title" transform={`translate(11 ${(EDGE + height - BOTTOM) / 2}) rotate(-90)`}>
            {yTitle}
          </text>
          {spots.map((spot) => mark(spot, false))}
          {on !== undefined && mark(on, true)}
        </svg>
      )}
    </div>
  );
}

interface Axis {
  readonly at: (value: number) => number;
  readonly ticks: readonly { readonly at: number; readonly text: string }[];
}

/** With a little room at both ends, so that no point is cut off. */
export function axisOf(values: ArrayLike<number> & Iterable<number>, from: number, to: number): Axis {
  const { min, max } = rangeOf(values) ?? { min: 0, max: 0 };
  const room = (max - min) * 0.04 || Math.abs(max) * 0.1 || 1;
  const [low, high] = [min - room, max + room];
  const at = (value: number): number => from + ((value - low) / (high - low)) * (to - from);
  const ticks = linearTicks({ low, high });
  const texts = formatTicks(ticks);
  return { at, ticks: ticks.map((tick, one) => ({ at: Math.round(at(tick)) + 0.5, text: texts[one]! })) };
}
