/** One axis of the parallel coordinates: its values, a brush on it, and its name, by which it is moved. */
import { useRef, useState } from "preact/hooks";
import type { Axis } from "./axes";
import { brushFrom, type Brush } from "./brushing";
import { setBrush } from "./state";

const HALF = 12; // pixels left and right of the axis that can be brushed
const MAX_TEXT = 14;

interface Props {
  axis: Axis;
  x: number;
  top: number;
  height: number;
  brush: Brush | null;
}

export function AxisView({ axis, x, top, height, brush }: Props) {
  const [drawn, setDrawn] = useState<{ from: number; to: number } | null>(null);
  const area = useRef<SVGRectElement>(null);
  const placeOf = (event: PointerEvent): number => {
    const bounds = area.current!.getBoundingClientRect();
    return 1 - (event.clientY - bounds.top) / bounds.height;
  };
  const y = (place: number): number => top + (1 - place) * height;
  const shown: Brush | null =
    drawn === null
      ? brush && { low: axis.placeOfUnit(brush.low), high: axis.placeOfUnit(brush.high) }
      : { low: Math.min(drawn.from, drawn.to), high: Math.max(drawn.from, drawn.to) };
  const within = (place: number): number => Math.min(1, Math.max(0, place));
  return (
    <g>
      <path class="par-axis" d={`M${x} ${top}V${top + height}`} />
      {axis.ticks.map(({ place, text }) => (
        <g key={`${place} ${text}`}>
          <path class="par-axis" d={`M${x - 3} ${y(place)}H${x}`} />
          <text class="e par-tick" x={x - 6} y={y(place) + 4}>
            {text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT - 1)}…` : text}
          </text>
        </g>
      ))}
      {shown !== null && (
        <rect
          class="par-brush"
          x={x - 6}
          width={12}
          y={y(within(shown.high))}
          height={Math.max(2, y(within(shown.low)) - y(within(shown.high)))}
        />
      )}
      <rect
        ref={area}
        class="par-grip"
        x={x - HALF}
        y={top}
        width={2 * HALF}
        height={height}
        data-axis={axis.column.name}
        onPointerDown={(event) => {
          event.preventDefault();
          event.currentTarget.setPointerCapture(event.pointerId);
          const place = placeOf(event);
          setDrawn({ from: place, to: place });
        }}
        onPointerMove={(event) => drawn !== null && setDrawn({ from: drawn.from, to: placeOf(event) })}
        onPointerUp={(event) => {
          if (drawn === null) return;
          setBrush(axis.column.key, brushFrom(axis, drawn.from, placeOf(event)));
          setDrawn(null);
        }}
        onPointerCancel={() => setDrawn(null)}
      >
        <title>{`Draw along ${axis.column.name} to keep a part of it; click to keep all`}</title>
      </rect>
    </g>
  );
}
