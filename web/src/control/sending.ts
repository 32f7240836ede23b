/** Send the training what it is to do, one thing after the other, and keep what it turned down. */
import { computed, effect, signal } from "@preact/signals";
import { isConnected } from "../runs/states";
import * as page from "../store";
import type { ControlDoQuestion } from "../wire";
import { whyNot, type Act } from "./allowed";
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
