/** All state of the page that more than one part of it reads, as signals, and the ways to change it. */
import { batch, computed, signal } from "@preact/signals";
import type { PassDocument } from "../wire";
import { groupsAround, groupsToDepth } from "./pass/edges";
import type { Form, Hierarchy } from "./pass/model";
import { buildHierarchy } from "./pass/tree-builder";
import type { Source } from "./source";

export type Flow = "forward" | "backward";
export const METRICS = {
  none: "Nothing",
  forward_time: "Forward time",
  backward_time: "Backward time",
  memory: "Memory of outputs",
  flops: "FLOPs",
  parameters: "Parameters",
  zeros: "Share of zeros",
  type: "Type of op",
} as const;
export type Metric = keyof typeof METRICS;

/** One figure for each op, null where there is none, by the name the source knows it by: `zeros`. */
export type Figures = ReadonlyMap<string, readonly (number | null)[]>;

export type Opening =
  /** For the server to say what there is. */
  | { readonly state: "waiting" }
  | { readonly state: "empty" }
  | { readonly state: "loading"; readonly name: string; readonly since: number }
  | { readonly state: "failed"; readonly name: string; readonly reason: string }
  | { readonly state: "shown" };

/** A node to bring into view. A new object each time, so that asking twice for the same node works. */
export interface Reveal {
  readonly key: string;
}

/** Where data comes from; set once, when the page starts. */
export const source = signal<Source | null>(null);
export const passId = signal<string | null>(null);
export const opening = signal<Opening>({ state: "waiting" });
/** The random seed of the pass, all of its digits. */
export const seed = signal("");
/** What the page itself has to say about its data: what was left out of the file. */
export const pageNotes = signal<readonly string[]>([]);

export const document = signal<PassDocument | null>(null);
export const form = signal<Form>("unrolled");
export const flow = signal<Flow>("forward");
export const showBuffers = signal(false);
export const openGroups = signal<ReadonlySet<string>>(new Set());
export const selected = signal<string | null>(null);
export const hovered = signal<string | null>(null);
export const metric = signal<Metric>("forward_time");
export const figures = signal<Figures>(new Map());
export const searchHits = signal<ReadonlySet<string>>(new Set());
export const reveal = signal<Reveal | null>(null);
/** Rises when the colours change: a canvas that reads it repaints. */
export const themeTick = signal(0);

export const hierarchy = computed<Hierarchy | null>(() =>
  document.value === null ? null : buildHierarchy(document.value, form.value),
);

export function showPass(next: PassDocument, seedDigits: string): void {
  batch(() => {
    document.value = next;
    seed.value = seedDigits;
    opening.value = { state: "shown" };
    openGroups.value = new Set();
    selected.value = null;
    hovered.value = null;
    reveal.value = null;
    searchHits.value = new Set();
    figures.value = new Map();
  });
}

/** Select a node, or nothing. Does not move the camera. */
export function select(key: string | null): void {
  selected.value = key;
}

export function toggle(key: string): void {
  setOpen(key, !openGroups.value.has(key));
}

export function setOpen(key: string, isOpen: boolean): void {
  if (openGroups.value.has(key) === isOpen) return;
  const next = new Set(openGroups.value);
  if (isOpen) next.add(key);
  else next.delete(key);
  openGroups.value = next;
}

/** Open every group around a node and ask the canvas to show it. */
export function openTo(key: string): void {
  const around = hierarchy.value === null ? [] : groupsAround(hierarchy.value, key);
  const next = new Set([...openGroups.value, ...around]);
  if (next.size !== openGroups.value.size) openGroups.value = next;
  reveal.value = { key };
}

export function goTo(key: string): void {
  select(key);
  openTo(key);
}

/** Open all groups down to a depth: 0 closes everything, 1 opens the groups of the top level. */
export function openToDepth(depth: number): void {
  if (hierarchy.value !== null) openGroups.value = groupsToDepth(hierarchy.value, depth + 1);
}

/** Ask the source for a figure of every op, once; it then stands in `figures`. */
export async function requestFigures(name: string): Promise<void> {
  const [from, id] = [source.value, passId.value];
  if (from === null || id === null || figures.value.has(name)) return;
  const values = await from.figures(id, name).catch(() => null);
  if (values !== null && passId.value === id) figures.value = new Map(figures.value).set(name, values);
}
