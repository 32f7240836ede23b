/** Send the training what it is to do, one thing after the other, and keep what it turned down. */
import { computed, effect, signal } from "@preact/signals";
import { messageOf } from "../../data/message-of";
import { isConnected } from "../../data/connection";
import { about, control, controlId } from "../../data/control";
import { recall, remember } from "../../data/remembered";
import * as page from "../../data/store";
import { setPanel } from "../../ui/panels";
import type { ControlDoQuestion, ControlState, StepLevel } from "../../wire";
import { edit, initValues, liveValues, shownSeed } from "./drafts";
import { hasNetwork } from "./network/NetworkPanel";

type Action = ControlDoQuestion["action"];

/** Why the server turned the last one down; empty where it did not. What the training says is in its answers. */
export const complaint = signal("");

/** What the training did not want, as it was said last. The field is empty where it is of none. */
const said = computed(() => {
  const { refusal: text, refused_field: field } = control.value ?? { refusal: "", refused_field: "" };
  return { field, text, key: `${field} ${text}` };
});

/** The key of the refusal that somebody has read, or has done something about. */
const seenRefusal = signal("");

/** What is still to be said; empty where there is nothing. */
export const refusal = computed(() => {
  const { field, text, key } = said.value;
  return text === "" || key === seenRefusal.value ? { field: "", text: "" } : { field, text };
});

export function dismissRefusal(): void {
  complaint.value = "";
  seenRefusal.value = said.peek().key;
}

/** Type a parameter, or the seed, which has no name; null takes it back. What was said of the form before says nothing of this one. */
export function retype(name: string, text: string | null): void {
  edit(name, text);
  const isRefused = name !== "" && refusal.peek().field === name;
  if (isRefused || complaint.peek() !== "") dismissRefusal();
}

/** One after the other: each is for the state that the one before has brought about. */
let lastSent: Promise<void> = Promise.resolve();
/** What waits for its turn. Of a key that is held down, one is enough. */
const waiting = new Set<Act>();

export function send(act: Act, action: Action): void {
  if (reasonAgainst(act) !== "" || (waiting.has(act) && act !== "set")) return;
  waiting.add(act);
  // To stop is for what is under way, so it does not wait.
  const turn = act === "stop" ? Promise.resolve() : lastSent;
  const sent = turn.then(() => {
    waiting.delete(act);
    return reasonAgainst(act) === "" ? tell(action) : undefined;
  });
  if (act !== "stop") lastSent = sent;
}

async function tell(action: Action): Promise<void> {
  const source = page.source.peek();
  if (source === null) return;
  complaint.value = "";
  try {
    await source.ask({ type: "control_do", control_id: controlId.peek(), action });
    seenRefusal.value = "";
    await nextAnswer();
  } catch (reason) {
    complaint.value = messageOf(reason);
  }
}

/** What was told shows in the next answer; where it changes nothing, there is none. */
const WAIT_FOR_ANSWER_MS = 300;

async function nextAnswer(): Promise<void> {
  const before = control.peek();
  let stop = (): void => undefined;
  await new Promise<void>((resolve) => {
    setTimeout(resolve, WAIT_FOR_ANSWER_MS);
    stop = effect(() => {
      if (control.value !== before) resolve();
    });
  });
  stop();
}

// --- What can be done with a training now and, of what cannot, why.

export type Act = "init" | "run" | "step" | "stop" | "test" | "set";

/** What can be done in a state, and why nothing else can. */
const ACTS: Record<ControlState, readonly [acts: readonly Act[], reason: string]> = {
  starting: [["stop"], "The training is starting."],
  new: [["init"], "Nothing is initialised yet: Init first."],
  ready: [["init", "run", "step", "test", "set"], ""],
  busy: [["stop", "set"], "is under way: Stop first."],
  stopping: [["stop", "set"], "It stops after this trial."],
  done: [["init", "test", "set"], "All runs are done: Init begins anew."],
  failed: [["init"], "The training has ended: Init begins anew."],
  died: [["init"], "The training has ended: Init begins anew."],
};

/** Why something cannot be done now; empty where it can. */
export function reasonAgainst(act: Act): string {
  const listing = control.value?.listing;
  if (!isConnected.value) return "The connection to the server is lost.";
  if (listing === undefined) return "The server has not said yet how the training is.";
  const [acts, reason] = ACTS[listing.state];
  if (acts.includes(act)) return act === "test" && numItems.value === 0 ? "The training has no test set." : "";
  if (act === "stop") return "Nothing is under way.";
  return listing.state === "busy" ? `${listing.doing || "Something"} ${reason}` : reason;
}

/** Rises when what cannot be as it is written is to be shown. */
export const problemAsked = signal(0);

/** Begin anew, with what stands in the form. Nothing happens where something in it cannot be: it says so itself. */
export function init(): void {
  const [values, seed] = [initValues(), shownSeed.peek()];
  if (values !== null && seed !== null) {
    send("init", { type: "init", values, seed });
    return;
  }
  complaint.value = `Init waits for ${values === null ? "the parameters that are" : "the seed that is"} marked in red.`;
  if (values === null) setPanel("left", true);
  problemAsked.value += 1;
}

export function run(): void {
  send("run", { type: "run" });
}

export function step(): void {
  const count = stepCount.peek();
  if (count !== null) send("step", { type: "step", level: stepLevel.peek(), count });
}

/** Stop after this trial; a second time, and while it is not training yet: end the process. */
export function stop(): void {
  send("stop", { type: endsProcess.peek() ? "abort" : "stop" });
}

export const endsProcess = computed(() => ["stopping", "starting"].includes(control.value?.listing.state ?? ""));

export function testItem(item: number): void {
  send("test", { type: "test_item", item });
}

export function testAll(): void {
  send("test", { type: "test_all" });
}

/** All live parameters that were changed, or one of them. */
export function apply(name?: string): void {
  const values = liveValues(name);
  if (Object.keys(values).length > 0) send("set", { type: "set_live", values });
}

// --- How far a step goes, and which item is tested: what the toolbar was set to.

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

export const stepCount = computed(() => countIn(stepText.value, 1, MOST_STEPS));

/** The item to test; null where there is no such item. */
export const item = computed(() => countIn(itemText.value, 0, numItems.value - 1));

/** Of the test set. */
export const numItems = computed(() => about.value?.num_test_items ?? 0);

function countIn(text: string, low: number, high: number): number | null {
  const digits = text.replace(/\s/g, "");
  const count = /^\d+$/.test(digits) ? Number(digits) : NaN;
  return count >= low && count <= high ? count : null;
}

// --- What a person should know of a training that goes on, and what of it somebody has read.

const lines = computed(() => (control.value?.note ?? "").split("\n").filter((line) => line !== ""));

/** As the training begins its reason: see training/looping/netmoments.py. */
const NO_NETWORK = /^the network cannot be shown(?: in NetView)?: /;

/** Why there is no network; empty where nobody said so. */
export const whyNoNetwork = computed(() => (lines.value.find((line) => NO_NETWORK.test(line)) ?? "").replace(NO_NETWORK, ""));

/** All but what stands in the place of the network, or is of no interest any more. */
const others = computed(() => {
  const hasEnded = ["failed", "died"].includes(control.value?.listing.state ?? "");
  return lines.value.filter((line) => (hasNetwork.value && !hasEnded) || !NO_NETWORK.test(line));
});

/** Said once for each Init: after the next one the same is news again. */
const noteKey = computed(() => [control.value?.run_ids[0] ?? "", ...others.value].join("\n"));
const seenNotes = signal("");

export const shownNotes = computed(() => (noteKey.value === seenNotes.value ? [] : others.value));

export function dismissNotes(): void {
  seenNotes.value = noteKey.peek();
}
