/** Where the drawing is looked at from: it fits, zooms, and follows the step. */
import { batch, computed, signal } from "@preact/signals";
import { type Camera, centred, clampScale, kept, panned, type Rect, type Size, zoomedAt } from "../../../ui/pan-zoom";
import { lesson } from "../store";
import { layOut, type Spot, type Way } from "./layout";

export const layout = computed(() => (lesson.value === null ? null : layOut(lesson.value)));

export const camera = signal<Camera>({ x: 0, y: 0, scale: 1 });
export const viewSize = signal<Size>({ width: 0, height: 0 });
/** While somebody drags, nothing glides. */
export const isHeld = signal(false);
/** Did somebody move it? Then it is not fitted again by itself. */
let isByHand = false;

const MARGIN = 16;
/** What is brought into view keeps this far from the edges. */
const CLEAR = 32;
/** Smaller, nothing can be read: then only a part is shown. */
const READABLE = 0.8;
const PART_SCALE = 0.8;

/** All of it, never larger than life. */
export function fit(): void {
  isByHand = false;
  const bounds = layout.peek()?.bounds;
  if (bounds !== undefined && viewSize.peek().width > 0) camera.value = fitted(bounds, viewSize.peek());
}

export function fitted(bounds: Rect, size: Size): Camera {
  const [across, down] = [(size.width - 2 * MARGIN) / bounds.width, (size.height - 2 * MARGIN) / bounds.height];
  return centred(bounds, size, clampScale(Math.min(1, across, down)));
}

/** A new drawing, or a window of another size: all of it where it can be read, else what is gone through now. */
export function begin(around: Rect | null, isNew: boolean): void {
  if (isNew) isByHand = false;
  const bounds = layout.peek()?.bounds;
  const size = viewSize.peek();
  if (bounds === undefined || size.width === 0 || isByHand) return;
  const whole = fitted(bounds, size);
  camera.value =
    whole.scale >= READABLE || around === null ? whole : kept(centred(around, size, PART_SCALE), bounds, size);
}

/** Move as little as it takes to show this. */
export function show(part: Rect): void {
  const size = viewSize.peek();
  if (size.width === 0) return;
  const now = camera.peek();
  const [width, height] = [size.width / now.scale, size.height / now.scale];
  const clear = Math.min(CLEAR, size.width / 8, size.height / 8) / now.scale;
  const x = shifted(now.x, width, part.x, part.width, clear);
  const y = shifted(now.y, height, part.y, part.height, clear);
  if (x !== now.x || y !== now.y) camera.value = { ...now, x, y };
}

function shifted(start: number, length: number, from: number, extent: number, clear: number): number {
  if (from >= start && from + extent <= start + length) return start;
  if (from - clear < start || extent > length - 2 * clear) return from - clear;
  return from + extent + clear - length;
}

export function zoomBy(factor: number, at?: { readonly x: number; readonly y: number }): void {
  const size = viewSize.peek();
  const { x, y } = at ?? { x: size.width / 2, y: size.height / 2 };
  move(zoomedAt(camera.peek(), x, y, factor));
}

export function panBy(dx: number, dy: number): void {
  move(panned(camera.peek(), dx, dy));
}

function move(next: Camera): void {
  const bounds = layout.peek()?.bounds;
  batch(() => {
    isByHand = true;
    camera.value = bounds === undefined ? next : kept(next, bounds, viewSize.peek());
  });
}

/** The smallest rectangle around several. */
export function around(boxes: readonly Rect[]): Rect | null {
  if (boxes.length === 0) return null;
  const [x, y] = [Math.min(...boxes.map((box) => box.x)), Math.min(...boxes.map((box) => box.y))];
  const right = Math.max(...boxes.map((box) => box.x + box.width));
  const bottom = Math.max(...boxes.map((box) => box.y + box.height));
  return { x, y, width: right - x, height: bottom - y };
}

// --- The lines between cards: down from what is above, or across from what stands beside.

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Route {
  /** As an SVG path, from the input to the op. */
  readonly path: string;
  /** Where it leaves the input and where it reaches the op, and in which direction it comes there. */
  readonly start: Point;
  readonly end: Point;
  readonly side: "down" | "left" | "right";
}

/** An input that is so far aside has its line at its side. */
const ASIDE = 24;
/** How far lines that arrive at one card are apart. */
const APART = 40;

export function routeEdges(ways: readonly Way[], spots: readonly Spot[], boxes: readonly Rect[]): Route[] {
  const sides = ways.map((way) => sideOf(way, boxes));
  return ways.map((way, at) => {
    const side = sides[at]!;
    const mates = ways.filter((other, index) => other.to === way.to && sides[index] === side);
    const sorted = [...mates].sort((one, other) => comesFrom(one, spots) - comesFrom(other, spots));
    const place = sorted.indexOf(way) - (mates.length - 1) / 2;
    if (side === "down") return downward(way, spots, boxes, place * spread(mates.length, boxes[way.to]!.width));
    return across(boxes[way.from]!, boxes[way.to]!, side, place * 14);
  });
}

function spread(count: number, width: number): number {
  return Math.min(APART, (width - 24) / Math.max(1, count));
}

/** Where a line comes from, from left to right. */
function comesFrom({ from, through }: Way, spots: readonly Spot[]): number {
  return spots[through.at(-1) ?? from]!.x;
}

function sideOf({ from, to, through }: Way, boxes: readonly Rect[]): Route["side"] {
  const [a, b] = [boxes[from]!, boxes[to]!];
  if (through.length > 0) return "down";
  if (a.x > b.x + b.width + ASIDE) return "left";
  return a.x + a.width + ASIDE < b.x ? "right" : "down";
}

/** From the side of a card that stands beside to that of the op. */
function across(from: Rect, to: Rect, side: "left" | "right", shift: number): Route {
  const start = { x: side === "left" ? from.x : from.x + from.width, y: from.y + from.height / 2 };
  const end = { x: side === "left" ? to.x + to.width : to.x, y: to.y + to.height / 2 + shift };
  const bend = Math.max(24, Math.abs(start.x - end.x) * 0.55) * (side === "left" ? -1 : 1);
  return { path: `M${at(start)}C${at(moved(start, bend, 0))} ${at(moved(end, -bend, 0))} ${at(end)}`, start, end, side };
}

function downward(way: Way, spots: readonly Spot[], boxes: readonly Rect[], shift: number): Route {
  const [from, to] = [boxes[way.from]!, boxes[way.to]!];
  const start = { x: from.x + from.width / 2, y: from.y + from.height };
  const end = { x: to.x + to.width / 2 + shift, y: to.y };
  let [path, last] = [`M${at(start)}`, start];
  for (const { x, y, height } of way.through.map((spot) => spots[spot]!)) {
    path += curve(last, { x, y: y - height / 2 });
    last = { x, y: y + height / 2 };
    path += `L${at(last)}`;
  }
  return { path: path + curve(last, end), start, end, side: "down" };
}

/** Down, with a bend half way. */
function curve(from: Point, to: Point): string {
  const bend = Math.max(8, Math.abs(to.y - from.y) / 2);
  return `C${at(moved(from, 0, bend))} ${at(moved(to, 0, -bend))} ${at(to)}`;
}

function moved({ x, y }: Point, dx: number, dy: number): Point {
  return { x: x + dx, y: y + dy };
}

function at({ x, y }: Point): string {
  return `${Math.round(x * 10) / 10} ${Math.round(y * 10) / 10}`;
}
