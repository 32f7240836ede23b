/** Ask for examples, lessons and checks. Of what was asked in between, only the newest answer is shown. */
import { batch, effect } from "@preact/signals";
import { messageOf } from "../../data/message-of";
import { askOf } from "../../data/requests";
import type { Source } from "../../data/source";
import * as page from "../../data/store";
import type { Example } from "../../wire";
import {
  catalogue,
  catalogueFailure,
  checking,
  checks,
  draft,
  exampleId,
  isEditing,
  isOwn,
  isPlaying,
  lesson,
  opening,
  pageMode,
  type Place,
  showLesson,
  sourceText,
} from "./store";

/** Which lesson is the newest that was asked for. */
let asked = 0;

/** What the lesson that is shown was made from: one that is cancelled before it came leaves it as it was. */
let shownFrom = { text: "", exampleId: "", isOwn: false };

/** Ask a source for what there is to learn, as soon as it is there. Only where that is shown: it may take a moment. */
export function startLessons(source: Source): () => void {
  return effect(() => {
    if (source.hasLessons.value === true && catalogue.peek() === null) void askCatalogue(source);
  });
}

async function askCatalogue(source: Source): Promise<void> {
  try {
    catalogue.value = (await askOf({ type: "lessons" }, "lessons", source)).answer;
    catalogueFailure.value = "";
  } catch (reason) {
    catalogueFailure.value = messageOf(reason);
  }
}

export function tryCatalogueAgain(): void {
  void askCatalogue(page.source.peek()!);
}

/** Leave the exercises for an example. */
export function chooseExample(example: Example): void {
  pageMode.value = "expressions";
  openExample(example);
}

/** Take an example apart, also behind the exercises, where an address names both. */
export function openExample(example: Example, place: Place = {}): void {
  batch(() => {
    exampleId.value = example.id;
    isOwn.value = false;
    isEditing.value = false;
  });
  void openLesson(example.source, example.title, place);
}

/** Take the student's own expression apart. */
export function runOwn(text: string, place: Place = {}): Promise<boolean> {
  const example = catalogue.peek()?.examples.find(({ id }) => id === exampleId.peek());
  isOwn.value = example?.source !== text;
  return openLesson(text, isOwn.peek() ? "Your expression" : (example?.title ?? ""), place);
}

/** Is there an answer, and is it still wanted? */
async function openLesson(text: string, title: string, place: Place): Promise<boolean> {
  asked += 1;
  const mine = asked;
  batch(() => {
    sourceText.value = text;
    isPlaying.value = false;
    // What is shown stays until there is something else.
    opening.value = { state: "loading", title };
  });
  try {
    const { lesson } = (await askOf({ type: "lesson", source: text }, "lesson")).answer;
    if (mine !== asked) return false;
    shownFrom = { text, exampleId: exampleId.peek(), isOwn: isOwn.peek() };
    showLesson({ ...lesson, title: lesson.title || title }, place);
    void askChecks(text, mine);
    return true;
  } catch (reason) {
    if (mine === asked) opening.value = { state: "failed", reason: messageOf(reason) };
    return false;
  }
}

async function askChecks(text: string, mine: number): Promise<void> {
  if ((lesson.peek()?.backward.length ?? 0) === 0 || checks.peek().size > 0) return;
  checking.value = { state: "waiting" };
  try {
    const { answer } = await askOf({ type: "lesson_checks", source: text }, "lesson_checks");
    if (mine !== asked) return;
    batch(() => {
      checks.value = new Map(answer.checks.map((check) => [check.node, check]));
      checking.value = { state: "shown" };
    });
  } catch (reason) {
    if (mine === asked) checking.value = { state: "failed", reason: messageOf(reason) };
  }
}

export function tryChecksAgain(): void {
  void askChecks(sourceText.peek(), asked);
}

/** Wait no longer for a lesson: the one before is still there, or the examples are. */
export function cancelOpening(): void {
  if (opening.peek().state !== "loading") return;
  if (lesson.peek() === null) {
    closeLesson();
    return;
  }
  asked += 1;
  batch(() => {
    sourceText.value = shownFrom.text;
    exampleId.value = shownFrom.exampleId;
    isOwn.value = shownFrom.isOwn;
    opening.value = { state: "shown" };
  });
  // Those that were on their way when the other lesson was asked for are not heard any more.
  if (checking.peek().state === "waiting") tryChecksAgain();
}

/** Nothing is chosen any more: the examples are shown. */
export function closeLesson(): void {
  asked += 1;
  batch(() => {
    lesson.value = null;
    exampleId.value = "";
    isOwn.value = false;
    isEditing.value = false;
    sourceText.value = "";
    opening.value = { state: "empty" };
  });
}

export function beginEditing(): void {
  batch(() => {
    const shown = sourceText.peek();
    draft.value = shown === "" ? FIRST_LINES : shown;
    isEditing.value = true;
  });
}

const FIRST_LINES = "import torcheer.autograd as T\n\nx = T.param([1.0, -2.0])\n\nloss = (x ** 2).sum()\nloss.backward()\n";

/** What was typed is taken apart; the field stays where that cannot be asked. */
export async function runDraft(): Promise<void> {
  const text = draft.peek();
  if (await runOwn(text)) isEditing.value = false;
}
