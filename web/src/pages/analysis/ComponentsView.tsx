/** Where the items lie along the directions in which a layer varies most. */
import { signal } from "@preact/signals";
import { formatValue } from "../../data/format";
import { NumberTable } from "../../plot/NumberTable";
import { Legend, Mark } from "../../plot/labels";
import { formatTicks, linearTicks } from "../../plot/ticks";
import { Select } from "../../ui/Select";
import { rangeOf } from "../../ui/colour-scale";
import { Chart, goToItem, LayerFigures, Levels, nearestOf, ReadingLine } from "./Figure";
import { current, isTable } from "./choice";
import { type Analysed, itemName, items, labelOf, singlesOf, useBoth } from "./items";

const NUM_COMPONENTS = 6;
const MOST_ROWS = 200;

const axes = signal<readonly [number, number]>([0, 1]);

/** A column for each component. */
type Answered = Analysed<"net_components", readonly Float32Array[]>;

export function ComponentsView() {
  const looks = useBoth("net_components", () => ({ num_components: NUM_COMPONENTS }), (reply) => {
    const { places, shares } = reply.answer;
    const numbers = singlesOf(reply, places.length * shares.length);
    return shares.map((_, column) => Float32Array.from(places, (_place, row) => numbers[row * shares.length + column]!));
  });
  const all = items.value;
  return (
    <>
      <LayerFigures
        looks={looks}
        facts={({ head }) => <Shares shares={head.shares} />}
        draw={(value) => value !== null && (isTable.value ? <ItemTable value={value} /> : <Scatter value={value} />)}
      />
      <ReadingLine />
      <div class="an-below">
        <div class="an-axes">
          <AxisChoice name="Across" which={0} />
          <AxisChoice name="Up" which={1} />
        </div>
        {all !== null && <Legend of={all} />}
      </div>
    </>
  );
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
      <Select
        look="input sm"
        value={String(axes.value[which])}
        options={Array.from({ length: NUM_COMPONENTS }, (_, at) => [String(at), `Component ${at + 1}`])}
        set={(text) => {
          const [x, y] = axes.peek();
          axes.value = which === 0 ? [Number(text), y] : [x, Number(text)];
        }}
      />
    </label>
  );
}

function ItemTable({ value: { head, data, items: all } }: { value: Answered }) {
  const shown = head.places.slice(0, MOST_ROWS);
  const hasLabels = all.labels.length > 0;
  return (
    <NumberTable
      label="Table of items"
      head={["Item", ...(hasLabels ? ["Label"] : []), ...data.map((_, at) => `Component ${at + 1}`)]}
      rows={shown.map((place, row) => [
        <button key={place} class="link" title="Show in the network" onClick={() => goToItem(all, place)}>
          {itemName(all, place)}
        </button>,
        ...(hasLabels ? [labelOf(all, place)] : []),
        ...data.map((values) => formatValue(values[row]!, 4)),
      ])}
      left={[head.places.length - shown.length, "items"]}
    />
  );
}

// --- Items as points along two components.

const [LEFT, BOTTOM, EDGE] = [52, 40, 12];
/** So near a point has to be to be meant. */
const REACH = 14;

function Scatter({ value: { head, data, items: all, layer } }: { value: Answered }) {
  const { places, shares } = head;
  const none = new Float32Array(places.length);
  const [across, up] = axes.value;
  const [xs, ys] = [data[across] ?? none, data[up] ?? none];
  const title = (at: number): string => `Component ${at + 1}: ${at < shares.length ? percent(shares[at]!) : "nothing varies"}`;
  return (
    <Chart
      summary={`${places.length} items of ${layer.name} along ${title(across)} and ${title(up)} of the variance. Arrows move, Enter shows the item in the network.`}
      items={all}
      order={places}
      draw={(width, height) => {
        const [x, y] = [axisOf(xs, LEFT, width - EDGE), axisOf(ys, height - BOTTOM, EDGE)];
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
            <Levels {...y} left={LEFT} right={width - EDGE} y={y.at} />
            <text class="c title" x={(LEFT + width - EDGE) / 2} y={height - 6}>
              {title(across)}
            </text>
            <text class="c title" transform={`translate(11 ${(EDGE + height - BOTTOM) / 2}) rotate(-90)`}>
              {title(up)}
            </text>
            {[...spots, ...on].map((spot, at) => (
              <Mark
                key={at}
                x={spot.x}
                y={spot.y}
                size={at < spots.length ? 4 : 6}
                label={all.label_of[spot.place]}
                numLabels={all.labels.length}
                isOn={at >= spots.length}
              />
            ))}
          </>
        );
        return { picture, itemAt: (left, top) => nearestOf(spots, left, top, REACH) };
      }}
    />
  );
}

/** With a little room at both ends, so that no point is cut off. */
export function axisOf(values: Iterable<number>, from: number, to: number) {
  const { min, max } = rangeOf(values) ?? { min: 0, max: 0 };
  const room = (max - min) * 0.04 || Math.abs(max) * 0.1 || 1;
  const [low, high] = [min - room, max + room];
  return { low, high, at: (value: number): number => from + ((value - low) / (high - low)) * (to - from) };
}
