/** What somebody chose to see of the parameters, as it stands in the address, and what the pointer is on. */
import { computed, signal } from "@preact/signals";
import { param, setParams } from "../../data/route";
import { escaped, unescaped } from "../../plot/figure-options";
import {
  type Brush,
  type Brushes,
  type Order,
  readBrushes,
  readOrder,
  writeBrushes,
  writeOrder,
} from "./sheet";

/** The run under the pointer, in any of the pictures. */
export const hoveredRun = signal<string | null>(null);

const list = (text: string): string[] => (text === "" ? [] : text.split(",").map(unescaped));
const listText = (keys: readonly string[]): string | null =>
  keys.length === 0 ? null : keys.map(escaped).join(",");

export const filterText = computed(() => param("q"));
export const brushes = computed<Brushes>(() => readBrushes(param("brush")));
export const order = computed<Order>(() => readOrder(param("sort")));
/** All runs that have parameters, or only those that are chosen. */
export const isChosenOnly = computed(() => param("which") === "chosen");
/** Columns that have one value for all runs say nothing about them. */
export const hidesSame = computed(() => param("same") !== "shown");
/** The column whose values colour the lines; empty where nobody chose. */
export const colourKey = computed(() => param("colour"));
export const scatterKeys = computed(() => ({ x: param("x"), y: param("y") }));

const axisOrder = computed(() => list(param("axes")));
/** Columns against what is shown by itself: `+` shown, `-` hidden. */
const changes = computed(
  () => new Map(list(param("cols")).map((text) => [text.slice(1), text.startsWith("+")])),
);
const scales = computed(
  () =>
    new Map(
      list(param("scale")).map(
        (text) => [text.slice(1), text.startsWith("+") ? "log" : "linear"] as const,
      ),
    ),
);

export function axesInOrder(): readonly string[] {
  return axisOrder.value;
}

/** Null where nobody has said. */
export function scaleOf(key: string): "linear" | "log" | null {
  return scales.value.get(key) ?? null;
}

export function isColumnShown(key: string, isByItself: boolean): boolean {
  return changes.value.get(key) ?? isByItself;
}

export function setFilter(text: string): void {
  setParams({ q: text === "" ? null : text });
}

export function setBrush(key: string, brush: Brush | null): void {
  const next = new Map(brushes.peek());
  next.delete(key);
  if (brush !== null) next.set(key, brush);
  setParams({ brush: next.size === 0 ? null : writeBrushes(next) });
}

export function clearBrushes(): void {
  setParams({ brush: null });
}

/** By this column; pressed again, the other way. Numbers begin with the largest, words with A. */
export function sortBy(key: string, isNumeric: boolean): void {
  const now = order.peek();
  setParams({ sort: writeOrder({ key, isDown: now.key === key ? !now.isDown : isNumeric }) });
}

export function setChosenOnly(isWanted: boolean): void {
  setParams({ which: isWanted ? "chosen" : null });
}

export function setHidesSame(isWanted: boolean): void {
  setParams({ same: isWanted ? null : "shown" });
}

export function setColour(key: string): void {
  setParams({ colour: key === "" ? null : key });
}

export function setScatter(side: "x" | "y", key: string): void {
  setParams({ [side]: key });
}

export function setAxisOrder(keys: readonly string[]): void {
  setParams({ axes: listText(keys) });
}

export function setColumnShown(key: string, isShown: boolean, isByItself: boolean): void {
  const next = new Map(changes.peek());
  next.delete(key);
  if (isShown !== isByItself) next.set(key, isShown);
  setParams({ cols: listText([...next].map(([one, isPlus]) => `${isPlus ? "+" : "-"}${one}`)) });
}

export function setScale(key: string, scale: "linear" | "log"): void {
  const next = new Map(scales.peek());
  // A brush is a part of the axis as it was.
  setBrush(key, null);
  next.set(key, scale);
  setParams({ scale: listText([...next].map(([one, name]) => `${name === "log" ? "+" : "-"}${one}`)) });
}
