/** Which trainings can be controlled, and all about the one that is shown. */
import { batch, computed, effect, signal } from "@preact/signals";
import type { About, ControlAnswer, ControlListing } from "../wire";
import { follow, type ReplyOf } from "./requests";
import { param, route } from "./route";
import type { Source } from "./source";

/** Null until the server has said so. */
export const controls = signal<readonly ControlListing[] | null>(null);

/** On the way to another view its address has other things in it. */
const isShown = computed(() => route.value.view === "control");

/** The one that the address names, or the first. Empty where there is none. */
export const controlId = computed(() => (isShown.value ? param("c") : "") || (controls.value?.[0]?.id ?? ""));

/**
 * The newest answer. What has not changed in it is the same object as before, so that what hangs on it is not made
 * anew with every trial.
 */
export const control = signal<ControlAnswer | null>(null);

/** Why nothing can be known of it; empty where something is. */
export const failure = signal("");

export const about = computed<About | null>(() => control.value?.about ?? null);

let stopAll = (): void => undefined;

/** Begin to follow which trainings a source can control. */
export function startControls(source: Source): void {
  stopAll();
  stopAll = effect(() => {
    if (source.hasRuns.value !== true) return undefined;
    // One that cannot say has none.
    const refuse = (): unknown => (controls.value ??= []);
    return follow(source, { type: "controls" }, ({ answer }) => (controls.value = answer.controls), refuse);
  });
}

/** Follow the training that is shown, from now on until the function that is returned is called. */
export function followControl(source: Source): () => void {
  return effect(() => {
    const id = controlId.value;
    if (control.peek()?.listing.id !== id) {
      batch(() => {
        control.value = null;
        failure.value = "";
      });
    }
    if (id === "") return undefined;
    return follow(source, { type: "control", control_id: id }, takeControl, (reason) => (failure.value = reason));
  });
}

function takeControl({ answer }: ReplyOf<"control">): void {
  batch(() => {
    control.value = keepingParts(control.peek(), answer);
    failure.value = "";
  });
}

const PARTS = ["about", "values", "run_ids", "all_run_ids", "fault"] as const;

function keepingParts(before: ControlAnswer | null, answer: ControlAnswer): ControlAnswer {
  if (before === null) return answer;
  const same = PARTS.filter((part) => JSON.stringify(before[part]) === JSON.stringify(answer[part]));
  return { ...answer, ...Object.fromEntries(same.map((part) => [part, before[part]])) };
}
