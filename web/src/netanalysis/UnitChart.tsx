/** What one unit responds to each label: the mean as a bar, each item as a point. */
import { linearTicks } from "../charting/numberticks";
import { formatTicks } from "../charting/tickwords";
import { formatCount, formatValue } from "../format";
import { current, isTable } from "./choosing";
import { labelColour, labelShape, rangeOf } from "./colours";
import type { Items } from "./items";
import { Mark } from "./Mark";
import { goToItem, stepItem } from "./ReadingLine";
import { useSize } from "./useSize";

export interface UnitResponses {
  readonly places: readonly number[];
  readonly responses: Float32Array;
  /** By label; empty where there are none. */
  readonly means: Float32Array;
  readonly dPrimes: Float32Array;
  readonly counts: readonly number[];
}

const [LEFT, EDGE, BOTTOM] = [52, 12, 22];
const LEAST_NAMED = 26;

export function UnitChart({ name, unit, items }: { name: string; unit: UnitResponses; items: Items }) {
  if (isTable.value && items.labels.length > 0) return <LabelTable unit={unit} items={items} />;
  return <Bars name={name} unit={unit} items={items} />;
}

function Bars({ name, unit, items }: { name: string; unit: UnitResponses; items: Items }) {
  const [box, room] = useSize<HTMLDivElement>();
  const [width, height] = [Math.floor(room.width), Math.floor(room.height)];
  const numBars = Math.max(1, items.labels.length);
  const pitch = (width - LEFT - EDGE) / numBars;
  const { min, max } = rangeOf([0, ...unit.responses, ...unit.means]) ?? { min: 0, max: 1 };
  const [low, high] = [min, max > min ? max : min + 1];
  const y = (value: number): number => height - BOTTOM - ((value - low) / (high - low)) * (height - BOTTOM - EDGE);
  const ticks = linearTicks({ low, high });
  const texts = formatTicks(ticks);
  // Points beside each other: where they stand in a bar says nothing but which item it is.
  const counted = new Map<number, number>();
  const spots = unit.places.map((place, at) => {
    const label = items.label_of[place] ?? 0;
    const number = counted.get(label) ?? 0;
    counted.set(label, number + 1);
    const share = ((number * 0.618034) % 1) * 0.6 + 0.2;
    return { place, label: items.label_of[place], x: LEFT + (label + share) * pitch, y: y(unit.responses[at]!) };
  });
  const nearest = (event: PointerEvent): number | null => {
    const area = (event.currentTarget as Element).getBoundingClientRect();
    let [best, near] = [null as number | null, 12];
    for (const spot of spots) {
      const far = Math.hypot(spot.x - event.clientX + area.left, spot.y - event.clientY + area.top);
      if (far < near) [best, near] = [spot.place, far];
    }
    return best;
  };
  return (
    <div class="an-room" ref={box}>
      {width > 0 && height > 0 && (
        <svg
          class="an-chart"
          width={width}
          height={height}
          role="img"
          aria-label={`Responses of ${name} to ${unit.places.length} items${items.labels.length > 0 ? `, with the mean of each of ${items.labels.length} labels` : ""}.`}
          tabindex={0}
          onPointerMove={(event) => (current.value = nearest(event))}
          onPointerLeave={() => (current.value = null)}
          onClick={() => current.peek() !== null && goToItem(items, current.peek()!)}
          onKeyDown={(event) => stepItem(event, unit.places, items)}
        >
          {ticks.map((tick, at) => (
            <g key={tick}>
              <path class="grid" d={`M${LEFT} ${Math.round(y(tick)) + 0.5}H${width - EDGE}`} />
              <text class="e" x={LEFT - 6} y={y(tick) + 4}>
                {texts[at]}
              </text>
            </g>
          ))}
          {[...unit.means].map((mean, label) => (
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
                  {items.labels[label]!.slice(0, Math.floor(pitch / 6.5))}
                </text>
              )}
            </g>
          ))}
          <path class="base" d={`M${LEFT} ${Math.round(y(0)) + 0.5}H${width - EDGE}`} />
          {spots.map((spot) => (
            <Mark
              key={spot.place}
              x={spot.x}
              y={spot.y}
              size={spot.place === current.value ? 5 : 3}
              shape={labelShape(spot.label, numBars)}
              fill={labelColour(spot.label, numBars)}
              isOn={spot.place === current.value}
            />
          ))}
        </svg>
      )}
    </div>
  );
}

function LabelTable({ unit, items }: { unit: UnitResponses; items: Items }) {
  return (
    <div class="an-table" role="region" aria-label="Table of labels" tabIndex={0}>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Label</th>
            <th scope="col">Items</th>
            <th scope="col">Mean</th>
            <th scope="col">d′</th>
          </tr>
        </thead>
        <tbody>
          {items.labels.map((label, at) => (
            <tr key={at}>
              <th scope="row">{label}</th>
              <td>{formatCount(unit.counts[at] ?? 0)}</td>
              <td>{formatValue(unit.means[at] ?? Number.NaN, 4)}</td>
              <td>{formatValue(unit.dPrimes[at] ?? Number.NaN, 4)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
