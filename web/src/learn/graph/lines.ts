/** The lines between cards: down from what is above, or across from what stands beside. */
import type { Rect } from "../../graph/scene";
import type { Way } from "./layout";
import type { Spot } from "./ordering";

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
