/** Ask for examples, lessons and checks. Of what was asked in between, only the newest answer is shown. */
import { batch, effect } from "@preact/signals";
import { messageOf } from "../../data/message-of";
import { askOf } from "../../data/requests";
import type { Source } from "../../data/source";
import * as page from "../../data/store";
import type { Example } from "../../wire";
import * as store from "./store";

let asked = 0;

/** What the lesson that is shown was made from: one that is cancelled before it came leaves it as it was. */
let shownFrom = { text: "", exampleId: "", isOwn: false };

/** Ask a source for what there is to learn, as soon as it is there. Only where that is shown: it may take a moment. */
export function startLessons(source: Source): () => void {
  return effect(() => {
    if (source.hasLessons.value === true && store.catalogue.peek() === null) void askCatalogue(source);
  });
}

async function askCatalogue(source: Source): Promise<void> {
  try {
    store.catalogue.value = (await askOf({ type: "lessons" }, "lessons", source)).answer;
    store.catalogueFailure.value = "";
  } catch (reason) {
    store.catalogueFailure.value = messageOf(reason);
  }
}

export function tryCatalogueAgain(): void {
  void askCatalogue(page.source.peek()!);
}

export function chooseExample(example: Example): void {
  store.pageMode.value = "expressions";
  openExample(example);
}

/** Take an example apart, also behind the exercises, where an address names both. */
export function openExample(example: Example, place: store.Place = {}): void {
  batch(() => {
    store.exampleId.value = example.id;
    store.isOwn.value = false;
    store.isEditing.value = false;
  });
  void openLesson(example.source, example.title, place);
}

export function runOwn(text: string, place: store.Place = {}): Promise<boolean> {
  const example = store.catalogue.peek()?.examples.find(({ id }) => id === store.exampleId.peek());
  store.isOwn.value = example?.source !== text;
  return openLesson(text, store.isOwn.peek() ? "Your expression" : (example?.title ?? ""), place);
}

async function openLesson(text: string, title: string, place: store.Place): Promise<boolean> {
  asked += 1;
  const mine = asked;
  batch(() => {
    store.sourceText.value = text;
    store.isPlaying.value = false;
    // What is shown stays until there is something else.
    store.opening.value = { state: "loading", title };
  });
  try {
    const { lesson } = (await askOf({ type: "lesson", source: text }, "lesson")).answer;
    if (mine !== asked) return false;
    shownFrom = { text, exampleId: store.exampleId.peek(), isOwn: store.isOwn.peek() };
    store.showLesson({ ...lesson, title: lesson.title || title }, place);
    void askChecks(text, mine);
    return true;
  } catch (reason) {
    if (mine === asked) store.opening.value = { state: "failed", reason: messageOf(reason) };
    return false;
  }
}

async function askChecks(text: string, mine: number): Promise<void> {
  if ((store.lesson.peek()?.backward.length ?? 0) === 0 || store.checks.peek().size > 0) return;
  store.checking.value = { state: "waiting" };
  try {
    const { answer } = await askOf({ type: "lesson_checks", source: text }, "lesson_checks");
    if (mine !== asked) return;
    batch(() => {
      store.checks.value = new Map(answer.checks.map((check) => [check.node, check]));
      store.checking.value = { state: "shown" };
    });
  } catch (reason) {
    if (mine === asked) store.checking.value = { state: "failed", reason: messageOf(reason) };
  }
}

export function tryChecksAgain(): void {
  void askChecks(store.sourceText.peek(), asked);
}

/** Wait no longer for a lesson: the one before is still there, or the examples are. */
export function cancelOpening(): void {
  if (store.opening.peek().state !== "loading") return;
  if (store.lesson.peek() === null) {
    closeLesson();
    return;
  }
  asked += 1;
  batch(() => {
    store.sourceText.value = shownFrom.text;
    store.exampleId.value = shownFrom.exampleId;
    store.isOwn.value = shownFrom.isOwn;
    store.opening.value = { state: "shown" };
  });
  // Those that were on their way when the other lesson was asked for are not heard any more.
  if (store.checking.peek().state === "waiting") tryChecksAgain();
}

/** Nothing is chosen any more: the examples are shown. */
export function closeLesson(): void {
  asked += 1;
  batch(() => {
    store.lesson.value = null;
    store.exampleId.value = "";
    store.isOwn.value = false;
    store.isEditing.value = false;
    store.sourceText.value = "";
    store.opening.value = { state: "empty" };
  });
}

export function beginEditing(): void {
  batch(() => {
    const shown = store.sourceText.peek();
    store.draft.value = shown === "" ? FIRST_LINES : shown;
    store.isEditing.value = true;
  });
}

const FIRST_LINES = "import torcheer.autograd as T\n\nx = T.param([1.0, -2.0])\n\nloss = (x ** 2).sum()\nloss.backward()\n";

/** What was typed is taken apart; the field stays where that cannot be asked. */
export async function runDraft(): Promise<void> {
  const text = store.draft.peek();
  if (await runOwn(text)) store.isEditing.value = false;
}
