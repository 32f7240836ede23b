/** A canvas that fills its width and is drawn anew when its data, its size or the theme changes. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { themeTick } from "../data/store";
import { useWidth } from "../ui/useWidth";

/** A place in the drawing, in CSS pixels. */
export interface Spot {
  readonly x: number;
  readonly y: number;
  readonly width: number;
}

/** The colour of a name in the theme that is on now, such as `text`. */
export type Ink = (name: string) => string;

interface Props {
  /** One sentence of what it shows. */
  label: string;
  height: number;
  paint: (context: CanvasRenderingContext2D, width: number, ink: Ink) => void;
  /** Where the pointer is; null when it leaves. */
  onPoint?: (spot: Spot | null) => void;
  onPress?: (spot: Spot) => void;
  children?: ComponentChildren;
}

export function Drawing({ label, height, paint, onPoint, onPress, children }: Props) {
  const [box, width] = useWidth<HTMLDivElement>(280);
  const canvas = useRef<HTMLCanvasElement>(null);
  const tick = themeTick.value;
  useLayoutEffect(() => {
    const context = canvas.current?.getContext("2d") ?? null;
    if (context === null) return;
    const style = getComputedStyle(document.documentElement);
    const ink = (name: string): string => style.getPropertyValue(`--${name}`).trim();
    // As sharp as the screen, and empty; what is drawn then counts in CSS pixels.
    const ratio = window.devicePixelRatio || 1;
    [context.canvas.width, context.canvas.height] = [Math.max(1, Math.round(width * ratio)), Math.round(height * ratio)];
    context.scale(ratio, ratio);
    context.font = `11px ${ink("font")}`;
    paint(context, width, ink);
  }, [paint, width, height, tick]);
  const spotOf = ({ clientX, clientY }: MouseEvent): Spot => {
    const { left, top } = canvas.current!.getBoundingClientRect();
    return { x: clientX - left, y: clientY - top, width };
  };
  return (
    <div
      ref={box}
      class="drawing"
      style={{ height: `${height}px` }}
      role="img"
      aria-label={label}
      onPointerMove={onPoint && ((event) => onPoint(spotOf(event)))}
      onPointerLeave={onPoint && (() => onPoint(null))}
      onClick={onPress && ((event) => onPress(spotOf(event)))}
    >
      <canvas ref={canvas} />
      {children}
    </div>
  );
}
