/** A canvas that fills its width and is drawn anew when its data, its size or the theme changes. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { useWidth } from "../measuring/useWidth";
import { themeTick } from "../store";
import { prepare, readInk, type Ink } from "./drawn";

/** A place in the drawing, in CSS pixels. */
export interface Spot {
  readonly x: number;
  readonly y: number;
  readonly width: number;
}

interface Props {
  /** One sentence of what it shows. */
  label: string;
  height: number | ((width: number) => number);
  paint: (context: CanvasRenderingContext2D, width: number, height: number, ink: Ink) => void;
  /** Where the pointer is; null when it leaves. */
  onPoint?: (spot: Spot | null) => void;
  onPress?: (spot: Spot) => void;
  onKeyDown?: (event: KeyboardEvent) => void;
  children?: ComponentChildren;
}

export function Drawing({ label, height, paint, onPoint, onPress, onKeyDown, children }: Props) {
  const [box, width] = useWidth<HTMLDivElement>(280);
  const canvas = useRef<HTMLCanvasElement>(null);
  const tick = themeTick.value;
  const tall = typeof height === "number" ? height : height(width);
  useLayoutEffect(() => {
    const context = canvas.current === null ? null : prepare(canvas.current, width, tall);
    if (context !== null) paint(context, width, tall, readInk());
  }, [paint, width, tall, tick]);
  const spotOf = (event: MouseEvent): Spot => {
    const bounds = canvas.current!.getBoundingClientRect();
    return { x: event.clientX - bounds.left, y: event.clientY - bounds.top, width };
  };
  return (
    <div
      ref={box}
      class="drawing"
      style={{ height: `${tall}px` }}
      tabIndex={onKeyDown === undefined ? undefined : 0}
      role="img"
      aria-label={label}
      onKeyDown={onKeyDown}
      onPointerMove={onPoint && ((event) => onPoint(spotOf(event)))}
      onPointerLeave={onPoint && (() => onPoint(null))}
      onClick={onPress && ((event) => onPress(spotOf(event)))}
    >
      <canvas ref={canvas} />
      {children}
    </div>
  );
}
