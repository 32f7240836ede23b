/** How the charts are drawn: read from the address and written to it, so that a link shows the same. */
import { computed, signal } from "@preact/signals";
import { route, setParams } from "../../data/route";

export type Axis = "step" | "relative" | "time";

/** A part of the horizontal axis, in its own unit. */
export interface Span {
  readonly low: number;
  readonly high: number;
}

/** Ends of a vertical axis; null where the data decides. */
export interface Limits {
  readonly low: number | null;
  readonly high: number | null;
}

export interface Options {
  /** From 0 for none to just below 1. */
  readonly smoothing: number;
  /** Has somebody asked for it? Otherwise lines of few points are left as they are. */
  readonly isSmoothingChosen: boolean;
  readonly axis: Axis;
  readonly isLogX: boolean;
  readonly isLogY: boolean;
  readonly ignoresOutliers: boolean;
  readonly hasSharedCursor: boolean;
  readonly filter: string;
  readonly zoom: Span | null;
  /** The key of the chart that is shown large; empty for none. */
  readonly enlarged: string;
  readonly tables: ReadonlySet<string>;
  readonly limits: ReadonlyMap<string, Limits>;
}

export const DEFAULT_SMOOTHING = 0.6;
export const MAX_SMOOTHING = 0.9999;
/** As long as somebody drags or types, the address waits: browsers allow it few changes in a second. */
const CALM_MS = 250;

type Params = ReadonlyMap<string, string>;
type Texts = Record<string, string | null>;

export function readOptions(params: Params): Options {
  const text = (name: string): string => params.get(name) ?? "";
  const axis = text("x");
  return {
    smoothing: clampSmoothing(text("sm") === "" ? DEFAULT_SMOOTHING : Number(text("sm"))),
    isSmoothingChosen: text("sm") !== "",
    axis: axis === "relative" || axis === "time" ? axis : "step",
    isLogX: text("lx") === "1" && axis !== "time",
    isLogY: text("ly") === "1",
    ignoresOutliers: text("out") === "1",
    hasSharedCursor: text("cur") !== "0",
    filter: text("q"),
    zoom: readSpan(text("lo"), text("hi")),
    enlarged: text("big"),
    tables: new Set(readList(text("tab"))),
    limits: readLimits(text("y")),
  };
}

/** What changes in the address. What is as by default is left out of it. */
export function writeOptions(changes: Partial<Options>): Texts {
  const texts: Texts = {};
  const { axis, isLogX, isLogY, ignoresOutliers, hasSharedCursor } = changes;
  if (axis !== undefined) {
    texts.x = axis === "step" ? null : axis;
    // The ends of a zoom are of one axis only.
    Object.assign(texts, { lo: null, hi: null });
  }
  if (isLogX !== undefined) texts.lx = isLogX ? "1" : null;
  if (isLogY !== undefined) texts.ly = isLogY ? "1" : null;
  if (ignoresOutliers !== undefined) texts.out = ignoresOutliers ? "1" : null;
  if (hasSharedCursor !== undefined) texts.cur = hasSharedCursor ? null : "0";
  return { ...texts, ...writeRest(changes) };
}

function writeRest(changes: Partial<Options>): Texts {
  const { smoothing, isSmoothingChosen = true, filter, zoom, enlarged, tables, limits } = changes;
  const texts: Texts = {};
  // What is chosen is written also where it is as by default.
  if (smoothing !== undefined) texts.sm = isSmoothingChosen ? String(clampSmoothing(smoothing)) : null;
  if (filter !== undefined) texts.q = orNull(filter);
  if (zoom !== undefined) {
    texts.lo = zoom === null ? null : String(zoom.low);
    texts.hi = zoom === null ? null : String(zoom.high);
  }
  if (enlarged !== undefined) texts.big = orNull(enlarged);
  if (tables !== undefined) texts.tab = orNull([...tables].map(encode).join(","));
  if (limits !== undefined) texts.y = orNull(writeLimits(limits));
  return texts;
}

function orNull(text: string): string | null {
  return text === "" ? null : text;
}

export function clampSmoothing(value: number): number {
  return Number.isFinite(value) ? Math.min(Math.max(value, 0), MAX_SMOOTHING) : DEFAULT_SMOOTHING;
}

function readNumber(text: string): number | null {
  const value = Number(text);
  return text.trim() === "" || !Number.isFinite(value) ? null : value;
}

function readSpan(low: string, high: string): Span | null {
  const [from, to] = [readNumber(low), readNumber(high)];
  return from === null || to === null || from >= to ? null : { low: from, high: to };
}

function readList(text: string): string[] {
  return text === "" ? [] : text.split(",").map(decode);
}

/** Only what separates: the address itself is encoded once more as a whole. */
function encode(key: string): string {
  return key.replace(/[%,:]/g, encodeURIComponent);
}

/** An address that somebody shortened by hand is no reason to fail. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function readLimits(text: string): ReadonlyMap<string, Limits> {
  const limits = new Map<string, Limits>();
  for (const part of text === "" ? [] : text.split(",")) {
    const [key = "", from = "", to = ""] = part.split(":");
    const [low, high] = [readNumber(from), readNumber(to)];
    const isAll = low === null && high === null;
    if (!isAll && (low === null || high === null || low < high)) limits.set(decode(key), { low, high });
  }
  return limits;
}

function writeLimits(limits: ReadonlyMap<string, Limits>): string {
  const parts = [...limits].map(
    ([key, { low, high }]) => `${encode(key)}:${low ?? ""}:${high ?? ""}`,
  );
  return parts.join(",");
}

/** What was changed a moment ago and does not stand in the address yet. */
const draft = signal<Partial<Options>>({});
let timer: ReturnType<typeof setTimeout> | null = null;

export const options = computed<Options>(() => ({ ...readOptions(route.value.params), ...draft.value }));

export function setOptions(changes: Partial<Options>): void {
  setSoon(changes);
  settleOptions();
}

/** Change options at once, and the address when nothing has changed for a while. */
export function setSoon(changes: Partial<Options>): void {
  const implied = {
    ...(changes.axis === undefined ? {} : { zoom: null }),
    ...(changes.smoothing === undefined ? {} : { isSmoothingChosen: true }),
  };
  draft.value = { ...draft.peek(), ...changes, ...implied };
  if (timer !== null) clearTimeout(timer);
  timer = setTimeout(settleOptions, CALM_MS);
}

export function settleOptions(): void {
  if (timer !== null) clearTimeout(timer);
  timer = null;
  const changes = draft.peek();
  if (Object.keys(changes).length === 0) return;
  setParams(writeOptions(changes));
  draft.value = {};
}
