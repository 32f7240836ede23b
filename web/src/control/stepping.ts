/** How far a step goes, and which item is tested: what the toolbar was set to. */
import { computed, signal } from "@preact/signals";
import { recall, remember } from "../remembered";
import type { StepLevel } from "../wire";
import { about } from "./store";

export const LEVELS: readonly StepLevel[] = ["trial", "epoch", "run"];
/** As many as the server takes. */
const MOST_STEPS = 1_000_000_000;

export const stepLevel = signal<StepLevel>(LEVELS.find((level) => level === recall("step-level")) ?? "trial");
export const stepText = signal("1");
export const itemText = signal("0");

export function setStepLevel(level: StepLevel): void {
  stepLevel.value = level;
  remember("step-level", level);
}

/** Null where it is no number of steps. */
export const stepCount = computed(() => countIn(stepText.value, 1, MOST_STEPS));

/** The item to test; null where there is no such item. */
export const item = computed(() => countIn(itemText.value, 0, (about.value?.num_test_items ?? 0) - 1));

function countIn(text: string, low: number, high: number): number | null {
  const digits = text.replace(/\s/g, "");
  const count = /^\d+$/.test(digits) ? Number(digits) : NaN;
  return count >= low && count <= high ? count : null;
}
