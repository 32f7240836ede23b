/** What somebody chose to see of the parameters, as it stands in the address, and what the pointer is on. */
import { computed, signal } from "@preact/signals";
import { param, setParams } from "../../data/route";
import { choice, flagsParam, listParam, textParam } from "../../plot/figure-options";
import { nextOrder, type Order, orderText, readOrder } from "../../ui/sorting";
import { type Brush, type Brushes, readBrushes, writeBrushes } from "./sheet";

/** The run under the pointer, in any of the pictures. */
export const hoveredRun = signal<string | null>(null);

export const filterText = textParam("q");
/** All runs that have parameters, or only those that are chosen. */
export const whichRuns = choice("which", ["all", "chosen"]);
/** Columns that have one value for all runs say nothing about them. */
export const sameColumns = choice("same", ["hidden", "shown"]);
/** The column whose values colour the lines; empty where nobody chose. */
export const colourKey = textParam("colour");
export const scatterKeys = { x: textParam("x"), y: textParam("y") };
export const axisOrder = listParam("axes");
/** Columns against what is shown by itself: whether each is shown. */
const changes = flagsParam("cols");
/** Axes whose scale was chosen: whether it is logarithmic. */
const scales = flagsParam("scale");

/** Of a column; `run` for the name of the run, which is not written. */
export const order = computed<Order>(() => readOrder(param("sort") || "run"));
export const brushes = computed<Brushes>(() => readBrushes(param("brush")));

/** Null where nobody has said. */
export function scaleOf(key: string): "linear" | "log" | null {
  const isLog = scales.value.get(key);
  return isLog === undefined ? null : isLog ? "log" : "linear";
}

export function setScale(key: string, scale: "linear" | "log"): void {
  // A brush is a part of the axis as it was.
  setBrush(key, null);
  scales.set(key, scale === "log");
}

export function isColumnShown(key: string, isByItself: boolean): boolean {
  return changes.value.get(key) ?? isByItself;
}

export function setColumnShown(key: string, isShown: boolean, isByItself: boolean): void {
  changes.set(key, isShown === isByItself ? null : isShown);
}

export function setBrush(key: string, brush: Brush | null): void {
  const next = new Map(brushes.peek());
  next.delete(key);
  if (brush !== null) next.set(key, brush);
  setParams({ brush: next.size === 0 ? null : writeBrushes(next) });
}

export function sortBy(key: string, isNumeric: boolean): void {
  const text = orderText(nextOrder(order.peek(), key, !isNumeric));
  setParams({ sort: text === "run" ? null : text });
}
