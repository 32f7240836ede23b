/** Let the network follow the run that is written now, and keep how somebody looks at it. */
import { batch, computed, effect, signal, untracked } from "@preact/signals";
import { followNet } from "../../netview/feeds";
import { givenRun } from "../../netview/netrun";
import * as net from "../../netview/netstate";
import * as view from "../../netview/store";
import { recall, remember } from "../../remembered";
import type { Source } from "../../source/source";
import { control } from "../store";

const MEMORY = "control-variable";
const FIRST_VARIABLE = "Act";

/** What somebody wants to see: a run that has just begun may not have it yet. */
const wanted = signal(recall(MEMORY) ?? FIRST_VARIABLE);

export function chooseVariable(name: string): void {
  wanted.value = name;
  view.variable.value = name;
  remember(MEMORY, name);
}

const runId = computed(() => control.value?.run_id ?? "");
const controlId = computed(() => control.value?.listing.id ?? "");

/** They change seldom: what shows them is not made anew with every trial. */
export const trainingName = computed(() => control.value?.listing.name ?? "");
export const runNumber = computed(() => control.value?.listing.counters.run ?? null);

/** What was drawn of the run before stays until there is something of the next. */
export const hasNetwork = computed(() => (view.scene.value?.layers.length ?? 0) > 0);

/** Call what it returns to stop. */
export function followNetwork(source: Source): () => void {
  startView();
  const stops = [effect(forgetOthers), effect(followRun), followNet(source), effect(keepVariable)];
  return () => {
    for (const stop of stops) stop();
    givenRun.value = null;
  };
}

function followRun(): void {
  givenRun.value = runId.value;
}

/** As the page NetView is without anything in its address. */
function startView(): void {
  batch(() => {
    view.variable.value = wanted.peek();
    view.item.value = 0;
    view.isFlat.value = false;
    view.isolated.value = null;
    view.hidden.value = new Set();
    view.selected.value = null;
    view.hovered.value = null;
    view.hasRays.value = true;
    view.hasArrows.value = true;
    view.look.value = { ...view.look.peek(), hasHeight: true, fading: 0 };
    net.isRaster.value = false;
  });
}

/** What was seen of another training, or on the page NetView, is not of this one. */
function forgetOthers(): void {
  const id = controlId.value;
  untracked(() => {
    const ids = id === "" ? [] : (control.peek()?.all_run_ids ?? []);
    if (!ids.includes(net.known.peek()?.runId ?? "")) batch(net.forget);
  });
}

function keepVariable(): void {
  const names = view.variables.value.map(({ name }) => name);
  if (names.includes(wanted.value)) view.variable.value = wanted.value;
}
