/** Items as points along two components. */
import { linearTicks } from "../charting/numberticks";
import { formatTicks } from "../charting/tickwords";
import { current } from "./choosing";
import { labelColour, labelShape, rangeOf } from "./colours";
import type { Items } from "./items";
import { Mark } from "./Mark";
import { goToItem, stepItem } from "./ReadingLine";
import { useSize } from "./useSize";

export interface Points {
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

export function Scatter({ points, items, xTitle, yTitle, summary }: Props) {
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
