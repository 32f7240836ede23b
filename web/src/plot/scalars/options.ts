/** How the charts are drawn: read from the address and written to it, so that a link shows the same. */
import { computed, signal } from "@preact/signals";
import { type Params, route, setParams } from "../../data/route";
import { escaped, partsOf, unescaped } from "../figure-options";
import type { Span } from "../ticks";

export type Axis = "step" | "relative" | "time";

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

type Texts = Record<string, string | null>;
type Text = (name: string) => string;

/** How an option stands in the address. What is as by default is left out of it. */
interface Entry<Value> {
  readonly read: (text: Text) => Value;
  readonly write: (value: Value) => Texts;
}

function flag(name: string, other: string, usual: boolean): Entry<boolean> {
  return {
    read: (text) => (text(name) === other) !== usual,
    write: (isOn) => ({ [name]: isOn === usual ? null : other }),
  };
}

function written(name: string): Entry<string> {
  return { read: (text) => text(name), write: (text) => ({ [name]: text || null }) };
}

const ENTRIES: { readonly [Name in keyof Options]: Entry<Options[Name]> } = {
  smoothing: {
    read: (text) => clampSmoothing(text("sm") === "" ? DEFAULT_SMOOTHING : Number(text("sm"))),
    // What is chosen is written also where it is as by default.
    write: (smoothing) => ({ sm: String(clampSmoothing(smoothing)) }),
  },
  isSmoothingChosen: { read: (text) => text("sm") !== "", write: (isChosen) => (isChosen ? {} : { sm: null }) },
  axis: {
    read: (text) => (["relative", "time"] as const).find((axis) => axis === text("x")) ?? "step",
    // The ends of a zoom are of one axis only.
    write: (axis) => ({ x: axis === "step" ? null : axis, lo: null, hi: null }),
  },
  isLogX: { ...flag("lx", "1", false), read: (text) => text("lx") === "1" && text("x") !== "time" },
  isLogY: flag("ly", "1", false),
  ignoresOutliers: flag("out", "1", false),
  hasSharedCursor: flag("cur", "0", true),
  filter: written("q"),
  zoom: {
    read: (text) => readSpan(text("lo"), text("hi")),
    write: (zoom) => ({ lo: zoom && String(zoom.low), hi: zoom && String(zoom.high) }),
  },
  enlarged: written("big"),
  tables: {
    read: (text) => new Set(partsOf(text("tab")).map(unescaped)),
    write: (tables) => ({ tab: [...tables].map(escaped).join(",") || null }),
  },
  limits: {
    read: (text) => readLimits(text("y")),
    write: (limits) => {
      const parts = [...limits].map(([key, { low, high }]) => `${escaped(key)}:${low ?? ""}:${high ?? ""}`);
      return { y: parts.join(",") || null };
    },
  },
};

export function readOptions(params: Params): Options {
  const text: Text = (name) => params.get(name) ?? "";
  return Object.fromEntries(Object.entries(ENTRIES).map(([name, { read }]) => [name, read(text)])) as unknown as Options;
}

/** What changes in the address. */
export function writeOptions(changes: Partial<Options>): Texts {
  const names = (Object.keys(ENTRIES) as (keyof Options)[]).filter((name) => changes[name] !== undefined);
  return Object.assign({}, ...names.map((name) => (ENTRIES[name] as Entry<unknown>).write(changes[name]))) as Texts;
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

function readLimits(text: string): ReadonlyMap<string, Limits> {
  const limits = new Map<string, Limits>();
  for (const part of partsOf(text)) {
    const [key = "", from = "", to = ""] = part.split(":");
    const [low, high] = [readNumber(from), readNumber(to)];
    const isAll = low === null && high === null;
    if (!isAll && (low === null || high === null || low < high)) limits.set(unescaped(key), { low, high });
  }
  return limits;
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
