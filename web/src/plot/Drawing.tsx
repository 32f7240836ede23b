/** A canvas that fills its width and is drawn anew when its data, its size or the theme changes. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { NUM_COLOURS } from "../data/run-colours";
import { themeTick } from "../data/store";
import { STEPS } from "../ui/colour-scale";
import { useWidth } from "../ui/useWidth";

export interface Spot {
  readonly x: number;
  readonly y: number;
  readonly width: number;
}

interface Props {
  label: string;
  height: number;
  paint: (context: CanvasRenderingContext2D, width: number, height: number, ink: Ink) => void;
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
    const context = fitCanvas(canvas.current, width, height);
    if (context !== null) paint(context, width, height, readInk());
  }, [paint, width, height, tick]);
  const spotOf = (event: MouseEvent): Spot => {
    const bounds = canvas.current!.getBoundingClientRect();
    return { x: event.clientX - bounds.left, y: event.clientY - bounds.top, width };
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

// --- Colours of the theme and a canvas in the pixels of the screen: what drawings begin with.

export interface Ink {
  readonly text: string;
  readonly text2: string;
  readonly caption: string;
  readonly surface: string;
  readonly line: string;
  readonly edge: string;
  readonly accent: string;
  readonly danger: string;
  /** From the quiet end. */
  readonly sequential: readonly string[];
  /** The colour of a run by its number, from 1. */
  readonly runs: readonly string[];
  readonly font: string;
}

export function readInk(): Ink {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  return {
    text: colour("text"),
    text2: colour("text-2"),
    caption: colour("text-3"),
    surface: colour("surface"),
    line: colour("line"),
    edge: colour("line-2"),
    accent: colour("accent"),
    danger: colour("danger"),
    sequential: Array.from({ length: STEPS.seq }, (_, step) => colour(`seq-${step}`)),
    runs: ["", ...Array.from({ length: NUM_COLOURS }, (_, at) => colour(`cat-${at + 1}`))],
    font: `11px ${colour("font") || "sans-serif"}`,
  };
}

/** A canvas as sharp as the screen, cleared: what is drawn counts in CSS pixels. Null where there is none, or no room. */
export function fitCanvas(canvas: HTMLCanvasElement | null, width: number, height: number): CanvasRenderingContext2D | null {
  const context = canvas?.getContext("2d") ?? null;
  if (canvas === null || context === null || width === 0 || height === 0) return null;
  const ratio = devicePixelRatio;
  const [across, down] = [Math.round(width * ratio), Math.round(height * ratio)];
  // Setting the size clears it, and costs more than clearing it.
  if (canvas.width !== across || canvas.height !== down) [canvas.width, canvas.height] = [across, down];
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}
