/** How the state of a run is said: a word and a shape, so that it never hangs on a colour. */
import { isConnected, lastHeard } from "../data/connection";
import type { RunListing, RunState } from "../wire";
import { formatHour } from "./times";

export interface ShownState {
  readonly word: string;
  readonly shape: "dot" | "check" | "cross" | "ring";
  readonly style: "live" | "died" | "warn" | "";
}

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

/** The group of their charts. */
export const WATCHER_GROUP = "watch";

/** Scalars that a watcher logs of itself, such as its cost: nobody compares trainings by them. */
export function isOfWatcher(name: string): boolean {
  return name.startsWith(`${WATCHER_GROUP}/`);
}
