/** All state of the page: which lesson, which step of it, what is looked at, and how far the student is. */
import { batch, computed, signal } from "@preact/signals";
import { isConnected } from "../../data/connection";
import * as page from "../../data/store";
import type { BackwardStep, Cells, LearnCheck, Lesson, LessonsAnswer } from "../../wire";
import { decimalText, largestAt, numbersOf, sharedLimit } from "./cells";
import { type Direction, stepsOf } from "./steps";

export type Opening =
  | { readonly state: "empty" }
  | { readonly state: "loading"; readonly title: string }
  | { readonly state: "failed"; readonly reason: string }
  | { readonly state: "shown" };

/** Null until the server has told it. */
export const catalogue = signal<Omit<LessonsAnswer, "type" | "id"> | null>(null);
/** Why there is none; empty where there is, or may be. */
export const catalogueFailure = signal("");

export const pageMode = signal<"expressions" | "exercises">("expressions");
export const opening = signal<Opening>({ state: "empty" });
export const lesson = signal<Lesson | null>(null);
/** What was sent to get the lesson: an example's, or the student's own. */
export const sourceText = signal("");
/** The example that is shown, or that it was edited from; empty for none. */
export const exampleId = signal("");
export const isOwn = signal(false);

export const direction = signal<Direction>("backward");
/** From 1. */
export const step = signal(1);
export const isPlaying = signal(false);

export const checks = signal<ReadonlyMap<number, LearnCheck>>(new Map());
export const checking = signal<{ readonly state: "none" | "waiting" | "shown" | "failed"; readonly reason?: string }>({ state: "none" });

/** The element of the contribution, or of the result on the way forward, that is looked at: chosen, and under the pointer. Null for none. */
export const chosenElement = signal<number | null>(null);
export const hoveredElement = signal<number | null>(null);
/** The node whose numbers are shown beside the step. */
export const lookedAt = signal<number | null>(null);

export const isGuessing = signal(false);
/** Up to which step everything was shown to somebody who guesses. */
const shownUpTo = signal(0);

export const isScaleShared = signal(true);

/** Where the scales of all tensors end, as somebody wants it; null for what the lesson needs. */
export const fixedLimits = signal<Readonly<Record<"value" | "gradient", number | null>>>({ value: null, gradient: null });

export const isEditing = signal(false);
export const draft = signal("");

/** Those of the way that is gone. */
export const steps = computed(() => (lesson.value === null ? [] : stepsOf(lesson.value, direction.value)));
export const count = computed(() => steps.value.length);

export const backwardStep = computed(() =>
  direction.value === "backward" ? (lesson.value?.backward[step.value - 1] ?? null) : null,
);

/** The op that the step is about, and the node that something arrives at. */
export const currentNode = computed(() => lesson.value?.nodes[steps.value[step.value - 1]?.node ?? -1] ?? null);
export const currentTarget = computed(() => steps.value[step.value - 1]?.to ?? null);

export const isHidden = computed(
  () => isGuessing.value && direction.value === "backward" && step.value > shownUpTo.value && count.value > 0,
);

export const element = computed(() => {
  const made = direction.value === "forward" ? currentNode.value?.value : backwardStep.value?.contribution;
  if (made === undefined) return 0;
  const wanted = hoveredElement.value ?? chosenElement.value;
  return wanted !== null && wanted < made.values.length ? wanted : largestAt(made);
});

/** What colours mean at their ends, of values and of gradients. */
export const limits = computed(() => {
  const nodes = lesson.value?.nodes ?? [];
  const steps = lesson.value?.backward ?? [];
  const fixed = fixedLimits.value;
  return {
    value: fixed.value ?? sharedLimit(nodes.map(({ value }) => value)),
    // Where all begins is always 1, however small the rest is.
    gradient: fixed.gradient ?? sharedLimit(steps.slice(steps.length > 1 ? 1 : 0).map(({ after }) => after)),
  };
});

/** What is wrong with the expression; empty where nothing is. */
export const faultText = computed(() => {
  const fault = lesson.value?.fault ?? null;
  if (fault === null) return "";
  return fault.line > 0 ? `Line ${fault.line}: ${fault.message}` : fault.message;
});

/** The loss as the time bar says it; empty where there is none. */
export const lossText = computed(() => {
  const cells = lesson.value?.nodes[lesson.value.loss ?? -1]?.value;
  const loss = cells === undefined ? undefined : numbersOf(cells)[0];
  return loss === undefined ? "" : decimalText(loss, 4);
});

export interface Place {
  readonly direction?: Direction;
  readonly step?: number;
}

/** Show another lesson, from the beginning or from a step of it. */
export function showLesson(next: Lesson, place: Place = {}): void {
  batch(() => {
    lesson.value = next;
    opening.value = { state: "shown" };
    checks.value = new Map(next.checks.map((check) => [check.node, check]));
    checking.value = { state: next.checks.length > 0 ? "shown" : "none" };
    lookedAt.value = null;
    shownUpTo.value = 0;
    const wanted = place.direction ?? direction.peek();
    direction.value = wanted === "backward" && next.backward.length === 0 ? "forward" : wanted;
    setStep(place.step ?? 1);
  });
}

export function setStep(to: number): void {
  batch(() => {
    step.value = Math.max(1, Math.min(Math.max(1, count.peek()), Math.round(to)));
    chosenElement.value = null;
    hoveredElement.value = null;
  });
}

/** The same by hand: then nothing is played any more. */
export function goToStep(to: number): void {
  isPlaying.value = false;
  setStep(to);
}

/** Look at an element, also where the pointer rests on another. */
export function chooseElement(nth: number): void {
  batch(() => {
    chosenElement.value = nth;
    hoveredElement.value = null;
  });
}

export function setDirection(to: Direction): void {
  if (to === direction.peek() || (to === "backward" && (lesson.peek()?.backward.length ?? 0) === 0)) return;
  batch(() => {
    direction.value = to;
    isPlaying.value = false;
    setStep(1);
  });
}

/** From the beginning, where it is at its end. */
export function togglePlaying(): void {
  if (count.peek() < 2) return;
  if (!isPlaying.peek() && step.peek() >= count.peek()) setStep(1);
  isPlaying.value = !isPlaying.peek();
}

export function reveal(): void {
  shownUpTo.value = Math.max(shownUpTo.peek(), step.peek());
}

export function setGuessing(isOn: boolean): void {
  batch(() => {
    isGuessing.value = isOn;
    shownUpTo.value = isOn ? step.peek() - 1 : 0;
    if (isOn) isPlaying.value = false;
  });
}

/** Is the value of a node known at this step? On the way back all of them are. */
export function isMade(id: number): boolean {
  return direction.value === "backward" || (lesson.value?.forward.indexOf(id) ?? -1) < step.value;
}

export type Arrived =
  /** `isAll`: nothing more will be added. */
  | { readonly state: "arrived"; readonly cells: Cells; readonly isAll: boolean; readonly step: BackwardStep }
  | { readonly state: "not yet" | "none" };

/** What has arrived at a node, as far as it may be seen. */
export function shownGradient(id: number): Arrived {
  if (lesson.value?.nodes[id]?.wants_gradient !== true) return { state: "none" };
  const numShown = direction.value === "forward" ? 0 : step.value - (isHidden.value ? 1 : 0);
  const last = lesson.value.backward.slice(0, numShown).findLast(({ to }) => to === id);
  if (last === undefined) return { state: "not yet" };
  return { state: "arrived", cells: last.after, isAll: last.number >= last.num_all, step: last };
}

// --- What can be done now and, of what cannot, why.

export const isOneFile = computed(() => page.source.value?.connection.value.state === "one-file");

/** Why the server cannot be asked now; empty where it can. */
export function whyNotAsk(): string {
  if (isOneFile.value) return "This page is one file, without a server.";
  return isConnected.value ? "" : "The connection to the server is lost.";
}
