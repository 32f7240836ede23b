/** Where one is in a pass, in the address: what is selected, what is open, which form, what colours mean. */
import { batch, effect } from "@preact/signals";
import type { PassDocument } from "../wire";
import { param, route, setParams } from "./route";
import * as store from "./store";
import { shownView } from "./views";

/** A longer list of open groups would make an address that nobody can send. */
const MAX_OPEN_LETTERS = 1500;
const FIRST_METRIC: store.Metric = "forward_time";
/** The pass for which page and address agree. What changes before that is not somebody's doing. */
let placed: PassDocument | null = null;
/** What is open where nobody opened anything: it needs no place in the address. */
let openAtFirst = "";

/** Take over from the address what it says about the pass that is shown. The drawing has opened its first groups. */
export function takePlace(): void {
  const document = store.document.peek();
  if (document === null || shownView.peek() !== "graph" || !isDrawn) return;
  openAtFirst = written(store.openGroups.peek());
  batch(() => {
    store.form.value = route.peek().params.get("form") === "rolled" ? "rolled" : "unrolled";
    const by = route.peek().params.get("by") ?? "";
    if (Object.hasOwn(store.METRICS, by)) store.metric.value = by as store.Metric;
  });
  takeOpen();
  takeSelected();
  placed = document;
}

let isDrawn = false;

/** Tell that the drawing is there, or that it is gone. */
export function setDrawn(isThere: boolean): void {
  isDrawn = isThere;
  placed = null;
  if (isThere) takePlace();
}

function takeOpen(): void {
  const nodes = store.hierarchy.peek()?.nodes;
  const named = route.peek().params.get("open");
  if (named === undefined || nodes === undefined) return;
  // An address of another version, or cut off, may name what is not there.
  const keys = named.split(",").filter((key) => nodes.get(key)?.kind === "group");
  store.openGroups.value = new Set(keys);
}

function takeSelected(): void {
  const key = route.peek().params.get("sel");
  if (key === undefined || store.hierarchy.peek()?.nodes.has(key) !== true) return;
  if (store.selected.peek() !== key) store.goTo(key);
}

/** Keep the address in step with what is done in the pass, and the pass with what is done to the address. */
export function startPlace(): void {
  effect(() => {
    const now = placeNow();
    if (isInPlace()) setParams(now);
  });
  effect(() => {
    const [sel, open] = [param("sel"), param("open")];
    if (!isInPlace()) return;
    if (sel !== (store.selected.peek() ?? "")) {
      if (sel === "") store.select(null);
      else takeSelected();
    }
    if (open !== "" && open !== written(store.openGroups.peek())) takeOpen();
  });
}

/** Is the pass of the address the one that is shown, and was its place taken over? */
function isInPlace(): boolean {
  if (placed === null || placed !== store.document.peek() || shownView.peek() !== "graph") return false;
  return ["", store.passId.peek()].includes(route.peek().params.get("pass") ?? "");
}

function placeNow(): Readonly<Record<"sel" | "open" | "form" | "by", string | null>> {
  const open = written(store.openGroups.value);
  return {
    sel: store.selected.value,
    open: open === openAtFirst || open.length > MAX_OPEN_LETTERS ? null : open,
    form: store.form.value === "rolled" ? "rolled" : null,
    by: store.metric.value === FIRST_METRIC ? null : store.metric.value,
  };
}

function written(open: ReadonlySet<string>): string {
  return open.size === 0 ? "-" : [...open].sort().join(",");
}
