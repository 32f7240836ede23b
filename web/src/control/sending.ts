/** Send the training what it is to do, one thing after the other, and keep what it turned down. */
import { computed, effect, signal } from "@preact/signals";
import { isConnected } from "../runs/states";
import * as page from "../store";
import type { ControlDoQuestion, ControlState } from "../wire";
import { about, control, controlId } from "./store";

type Action = ControlDoQuestion["action"];

/** Why the server turned the last one down; empty where it did not. What the training says is in its answers. */
export const complaint = signal("");

/** The refusal that somebody has read, or has done something about. */
const seenRefusal = signal("");

/** What the training did not want; empty where there is nothing to say. The field is empty where it is of none. */
export const refusal = computed(() => {
  const { refusal: said, refused_field: field } = control.value ?? { refusal: "", refused_field: "" };
  return said === "" || keyOf(field, said) === seenRefusal.value ? { field: "", text: "" } : { field, text: said };
});

function keyOf(field: string, text: string): string {
  return `${field} ${text}`;
}

export function dismissRefusal(): void {
  complaint.value = "";
  seenRefusal.value = keyOf(control.peek()?.refused_field ?? "", control.peek()?.refusal ?? "");
}

/** Why something cannot be done now; empty where it can. */
export function reasonAgainst(act: Act): string {
  const listing = control.value?.listing;
  return whyNot(act, {
    isConnected: isConnected.value,
    state: listing?.state ?? null,
    doing: listing?.doing ?? "",
    hasTest: (about.value?.num_test_items ?? 0) > 0,
  });
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
    complaint.value = reason instanceof Error ? reason.message : String(reason);
  }
}

/** What was told shows in the next answer; where it changes nothing, there is none. */
const WAIT_FOR_ANSWER_MS = 300;

function nextAnswer(): Promise<void> {
  const before = control.peek();
  return new Promise((resolve) => {
    const timer = setTimeout(finish, WAIT_FOR_ANSWER_MS);
    const stopLooking = effect(() => {
      if (control.value !== before) queueMicrotask(finish);
    });
    function finish(): void {
      clearTimeout(timer);
      stopLooking();
      resolve();
    }
  });
}

// --- What can be done with a training now and, of what cannot, why.

export type Act = "init" | "run" | "step" | "stop" | "test" | "set";

/** What it hangs on. */
interface Circumstances {
  readonly isConnected: boolean;
  /** Null before anything is known. */
  readonly state: ControlState | null;
  /** What is under way: Run, Step 3 epochs. */
  readonly doing: string;
  readonly hasTest: boolean;
}

const ACTS: Record<ControlState, readonly Act[]> = {
  starting: ["stop"],
  new: ["init"],
  ready: ["init", "run", "step", "test", "set"],
  busy: ["stop", "set"],
  stopping: ["stop", "set"],
  done: ["init", "test", "set"],
  failed: ["init"],
  died: ["init"],
};

/** Why something cannot be done now; empty where it can. */
export function whyNot(act: Act, { isConnected, state, doing, hasTest }: Circumstances): string {
  if (!isConnected) return "The connection to the server is lost.";
  if (state === null) return "The server has not said yet how the training is.";
  if (!ACTS[state].includes(act)) return act === "stop" ? "Nothing is under way." : reasonIn(state, doing);
  return act === "test" && !hasTest ? "The training has no test set." : "";
}

function reasonIn(state: ControlState, doing: string): string {
  switch (state) {
    case "starting":
      return "The training is starting.";
    case "new":
      return "Nothing is initialised yet: Init first.";
    case "busy":
      return `${doing || "Something"} is under way: Stop first.`;
    case "stopping":
      return "It stops after this trial.";
    case "done":
      return "All runs are done: Init begins anew.";
    case "failed":
    case "died":
      return "The training has ended: Init begins anew.";
    case "ready":
      return "";
  }
}
