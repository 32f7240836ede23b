/** What a person should know of a training that goes on, and what of it somebody has read. */
import { computed, signal } from "@preact/signals";
import { hasNetwork } from "./network/following";
import { control } from "./store";

const lines = computed(() => (control.value?.note ?? "").split("\n").filter((line) => line !== ""));

/** As the training begins its reason: see training/looping/netmoments.py. */
const NO_NETWORK = /^the network cannot be shown(?: in NetView)?: /;

/** Why there is no network; empty where nobody said so. */
export const whyNoNetwork = computed(() => (lines.value.find(isOfNetwork) ?? "").replace(NO_NETWORK, ""));

function isOfNetwork(line: string): boolean {
  return NO_NETWORK.test(line);
}

/** Said once for each Init: after the next one the same is news again. */
const seen = signal("");

function keyOf(texts: readonly string[]): string {
  return [control.value?.run_ids[0] ?? "", ...texts].join("\n");
}

/** All but what stands in the place of the network, or is of no interest any more. */
const others = computed(() => lines.value.filter((line) => (hasNetwork.value && !hasEnded.value) || !isOfNetwork(line)));

const hasEnded = computed(() => ["failed", "died"].includes(control.value?.listing.state ?? ""));

export const shownNotes = computed(() => (keyOf(others.value) === seen.value ? [] : others.value));

export function dismissNotes(): void {
  seen.value = keyOf(others.peek());
}
