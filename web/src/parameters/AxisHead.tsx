/** The name of an axis: drag it, or use the arrow keys, to move the axis; below it its scale. */
import { useRef, useState } from "preact/hooks";
import type { Axis } from "./axes";
import { movedTo } from "./ordering";
import { setAxisOrder, setScale } from "./state";

interface Props {
  axis: Axis;
  nth: number;
  keys: readonly string[];
  x: number;
  /** From one axis to the next. */
  gap: number;
}

const DRAG_FROM = 4; // pixels

export function AxisHead({ axis, nth, keys, x, gap }: Props) {
  const start = useRef<number | null>(null);
  const [by, setBy] = useState(0);
  const { key, name } = axis.column;
  const move = (to: number): void => setAxisOrder(movedTo(keys, key, to));
  return (
    <div
      class="par-head"
      style={{ left: `${x + by}px`, width: `${Math.max(48, gap - 8)}px`, zIndex: by === 0 ? undefined : 1 }}
    >
      <button
        class="par-name clip"
        title={`${name}: drag to move it, or use the arrow keys`}
        aria-label={`Axis ${name}, ${nth + 1} of ${keys.length}. Arrow keys move it.`}
        onKeyDown={(event) => {
          const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
          if (step === undefined) return;
          event.preventDefault();
          move(nth + step);
        }}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          start.current = event.clientX;
        }}
        onPointerMove={(event) => {
          const moved = start.current === null ? 0 : event.clientX - start.current;
          if (Math.abs(moved) >= DRAG_FROM || by !== 0) setBy(moved);
        }}
        onPointerUp={() => {
          const places = Math.round(by / gap);
          start.current = null;
          setBy(0);
          if (places !== 0) move(nth + places);
        }}
        onPointerCancel={() => {
          start.current = null;
          setBy(0);
        }}
      >
        {name}
      </button>
      {axis.canBeLog ? (
        <button
          class="par-scale"
          aria-label={`Scale of ${name}: ${axis.scale}`}
          title={axis.scale === "log" ? "Make it linear" : "Make it logarithmic"}
          onClick={() => setScale(key, axis.scale === "log" ? "linear" : "log")}
        >
          {axis.scale}
        </button>
      ) : (
        <span class="par-scale muted">{axis.scale === "words" ? "\u00a0" : axis.scale}</span>
      )}
    </div>
  );
}
