/** How the state of a run is said: a word and a shape, so that it never hangs on a colour. */
import { computed } from "@preact/signals";
import * as store from "../store";
import type { RunListing, RunState } from "../wire";
import { formatHour } from "./times";

export interface ShownState {
  readonly word: string;
  readonly shape: "dot" | "check" | "cross" | "ring";
  readonly style: "live" | "died" | "warn" | "";
}

/** Is the server there, so that what is said to be running is? */
export const isConnected = computed(() => store.source.value?.connection.value.state === "connected");

/** When the server was last heard, in seconds since 1970; null while it is there. */
export const lastHeard = computed<number | null>(() => {
  const connection = store.source.value?.connection.value;
  return connection?.state === "lost" ? connection.lastHeard / 1000 : null;
});

const SHOWN: Record<RunState, ShownState> = {
  running: { word: "running", shape: "dot", style: "live" },
  finished: { word: "finished", shape: "check", style: "" },
  died: { word: "died", shape: "cross", style: "died" },
  unknown: { word: "unknown", shape: "ring", style: "" },
};

export function shownState(run: RunListing): ShownState {
  if (run.state !== "running" || isConnected.value) return SHOWN[run.state];
  return { word: `last seen ${formatHour(lastHeard.value ?? run.updated)}`, shape: "ring", style: "warn" };
}

export function isLive(run: RunListing): boolean {
  return run.state === "running" && isConnected.value;
}

// --- Scalars that a watcher logs of itself, such as its cost: nobody compares trainings by them.

/** The group of their charts. */
export const WATCHER_GROUP = "watch";

export function isOfWatcher(name: string): boolean {
  return name.startsWith(`${WATCHER_GROUP}/`);
}
