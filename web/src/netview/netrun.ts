/**
 * Which run the NetView shows: the one that the address names, or the first in which there is something to see. A page
 * that shows a network beside other things says itself which run it is of.
 */
import { batch, computed, signal } from "@preact/signals";
import { param, route, setParams } from "../route";
import * as runs from "../runs/store";
import type { RecordKind, RunListing } from "../wire";

/** The run that another page shows the network of, empty where it has none yet; null on the page NetView itself. */
export const givenRun = signal<string | null>(null);

/** On the way to another view its address has other things in it. */
export const isShown = computed(() => givenRun.value !== null || route.value.view === "netview");

/** What a network can be seen from, the best first. */
const KINDS: readonly RecordKind[] = ["netview", "moment", "watch", "tensor"];

/** What the page chose by itself and wrote into the address. */
const ownChoice = signal("");

export const run = computed<RunListing | null>(() => {
  if (givenRun.value !== null) return runs.runsById.value.get(givenRun.value) ?? null;
  const named = param("run");
  if (named !== "" && !isGivenUp(named)) return runs.runsById.value.get(named) ?? null;
  const chosen = runs.chosen.value;
  // Until all have said what they hold, nobody knows which is the one to show.
  if (!runs.isIndexed.value) return null;
  for (const kind of KINDS) {
    const found = chosen.find(({ id }) => has(id, kind));
    if (found !== undefined) return found;
  }
  return chosen[0] ?? runs.runs.value[0] ?? null;
});

/** Somebody has chosen other runs since. */
function isGivenUp(named: string): boolean {
  return named === ownChoice.value && param("runs") !== "" && !runs.isChosen(named);
}

/** Say in the address which run is shown: who opens it later sees the same one, whatever runs there are by then. */
export function nameRun(): void {
  const id = runId.peek();
  if (id === "" || id === param("run")) return;
  // Together: in between, the address would name the one before as if somebody had chosen it.
  batch(() => {
    ownChoice.value = id;
    setParams({ run: id });
  });
}

/** A run that was given may be so young that it is on no list yet. */
export const runId = computed(() => givenRun.value ?? run.value?.id ?? "");

export const rank = computed(() => {
  const text = givenRun.value === null ? param("rank") : "";
  return /^\d{1,6}$/.test(text) ? Number(text) : 0;
});

/** May there be something to see in a run? Of runs that are not among the chosen ones nobody knows. */
export function mayShow(runId: string): boolean {
  return !runs.index.value.has(runId) || KINDS.some((kind) => has(runId, kind));
}

function has(runId: string, kind: RecordKind): boolean {
  for (const series of runs.index.value.get(runId)?.values() ?? []) if (series.kind === kind) return true;
  return false;
}
