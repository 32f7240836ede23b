/** The exercises: which one, what is typed, what was said of it, and how many hints were taken. */
import { batch, computed, signal } from "@preact/signals";
import { messageOf } from "../../../data/message-of";
import { askOf } from "../../../data/requests";
import type { Exercise, Hole, Verdict } from "../../../wire";
import { catalogue, pageMode } from "../store";

export const exerciseId = signal("");
interface Work {
  /** Null where nothing was typed since it was checked. */
  readonly typed: string | null;
  readonly verdict: Verdict | null;
  readonly numHints: number;
}

const UNTOUCHED: Work = { typed: null, verdict: null, numHints: 0 };

const works = signal<ReadonlyMap<string, Work>>(new Map());
/** Which hole is being checked; empty for none. */
export const checkingHole = signal("");
/** Why the last answer could not be checked; empty where it could. */
export const complaint = signal("");

export const exercises = computed<readonly Exercise[]>(() => catalogue.value?.exercises ?? []);
export const numSolved = computed(() => exercises.value.filter(({ is_solved }) => is_solved).length);

/** The one that is shown: the one that was chosen, else the first that is not solved. */
export const exercise = computed<Exercise | null>(() => {
  const all = exercises.value;
  return all.find(({ id }) => id === exerciseId.value) ?? all.find(({ is_solved }) => !is_solved) ?? all[0] ?? null;
});

export const nextExercise = computed<Exercise | null>(() => {
  const all = exercises.value;
  const at = all.findIndex(({ id }) => id === exercise.value?.id);
  const others = [...all.slice(at + 1), ...all.slice(0, Math.max(0, at))];
  return others.find(({ is_solved }) => !is_solved) ?? all[at + 1] ?? null;
});

export function chooseExercise(id: string): void {
  batch(() => {
    pageMode.value = "exercises";
    exerciseId.value = id;
    complaint.value = "";
  });
}

function keyOf(symbol: string): string {
  return `${exercise.value?.id ?? ""} ${symbol}`;
}

/** How far the work on a gradient of the exercise that is shown is. */
export function workOn({ symbol, answer, is_right }: Hole) {
  const { typed, verdict, numHints } = works.value.get(keyOf(symbol)) ?? UNTOUCHED;
  // What stands in the field: what is typed now, or what was the last time.
  const text = typed ?? answer;
  // What is typed anew is not known to be right, and was not looked at yet.
  return { text, numHints, isRight: is_right && text === answer, verdict: text === answer ? verdict : null };
}

function note(key: string, news: Partial<Work>): void {
  works.value = new Map(works.peek()).set(key, { ...(works.peek().get(key) ?? UNTOUCHED), ...news });
}

export function typeAnswer({ symbol }: Hole, text: string): void {
  note(keyOf(symbol), { typed: text });
}

/** One more; after the last comes the solution. */
export function takeHint(hole: Hole): void {
  note(keyOf(hole.symbol), { numHints: workOn(hole).numHints + 1 });
}

export async function checkAnswer(hole: Hole): Promise<void> {
  const [{ symbol }, now] = [hole, exercise.peek()];
  const answer = workOn(hole).text.trim();
  if (now === null || answer === "" || checkingHole.peek() !== "") return;
  const key = keyOf(symbol);
  batch(() => {
    // Solved, it stays in view: else the next that is not solved would come by itself.
    exerciseId.value = now.id;
    checkingHole.value = symbol;
    complaint.value = "";
  });
  try {
    const { answer: said } = await askOf({ type: "exercise", exercise_id: now.id, answers: { [symbol]: answer } }, "exercise");
    batch(() => {
      takeExercises(exercises.peek().map((one) => (one.id === said.exercise.id ? said.exercise : one)));
      for (const verdict of said.verdicts) note(`${said.exercise.id} ${verdict.symbol}`, { verdict });
      // The field shows what the server has: the same, but for spaces.
      note(key, { typed: null });
    });
  } catch (reason) {
    complaint.value = messageOf(reason);
  } finally {
    checkingHole.value = "";
  }
}

function takeExercises(all: Exercise[]): void {
  const known = catalogue.peek();
  if (known !== null) catalogue.value = { ...known, exercises: all };
}

export async function resetProgress(): Promise<void> {
  try {
    const { answer } = await askOf({ type: "progress_reset" }, "lessons");
    batch(() => {
      takeExercises(answer.exercises);
      works.value = new Map();
      complaint.value = "";
    });
  } catch (reason) {
    complaint.value = messageOf(reason);
  }
}
