import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readRoute, route } from "../../../src/data/route";
import * as page from "../../../src/data/store";
import { LearnPage } from "../../../src/pages/learn/LearnPage";
import { chooseExercise } from "../../../src/pages/learn/exercises/state";
import * as store from "../../../src/pages/learn/store";
import type { Exercise, ExerciseQuestion } from "../../../src/wire";
import { cells, exerciseWith, FakeLessons } from "./samples";

let box: HTMLElement;
let source: FakeLessons;
let exercises: Exercise[];

beforeEach(async () => {
  box = document.body.appendChild(document.createElement("div"));
  source = new FakeLessons();
  exercises = [exerciseWith(), exerciseWith({ id: "two", title: "A difference" })];
  source.answers = {
    lessons: () => ({ type: "lessons", id: 1, examples: [], exercises, functions: [] }),
    progress_reset: () => ({ type: "lessons", id: 1, examples: [], exercises, functions: [] }),
    exercise: (question) => judge(question as ExerciseQuestion),
  };
  store.catalogue.value = null;
  page.source.value = source;
  chooseExercise("");
  route.value = readRoute("#learn?show=exercises");
  await act(() => render(<LearnPage />, box));
  await settled();
});

afterEach(async () => {
  await act(() => render(null, box));
  box.remove();
  store.pageMode.value = "expressions";
});

function judge({ exercise_id, answers }: ExerciseQuestion) {
  const before = exercises.find(({ id }) => id === exercise_id)!;
  const answer = answers.a!;
  const is_right = answer === "g * b";
  const exercise = { ...before, is_solved: is_right, holes: [{ ...before.holes[0]!, answer, is_right }] };
  const message = is_right ? "Right, also on other numbers." : "The element [0] is wrong.";
  const verdict = { symbol: "a", is_right, message, got: cells([2], [1, 2]), wanted: cells([2], [3, 4]) };
  return { type: "exercise" as const, id: 1, exercise, verdicts: [verdict] };
}

async function settled(): Promise<void> {
  for (let round = 0; round < 3; round += 1) await act(() => new Promise<void>((done) => void setTimeout(done)));
}

async function answer(text: string): Promise<void> {
  const field = box.querySelector<HTMLInputElement>(".hole input")!;
  await act(() => {
    field.value = text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
  await act(() => void box.querySelector("form.hole")!.dispatchEvent(new Event("submit", { bubbles: true, cancelable: true })));
  await settled();
}

function button(name: string): HTMLButtonElement {
  return [...box.querySelectorAll("button")].find((one) => one.textContent === name)!;
}

async function click(name: string): Promise<void> {
  await act(() => button(name).click());
  await settled();
}

function progress(): string {
  return box.querySelector("[data-testid=progress]")!.textContent;
}

test("the first that is not solved is shown: its text, what is given and a field for each gradient", () => {
  const sheet = box.querySelector(".exercise-sheet")!;
  expect(sheet.querySelector("h2")!.textContent).toBe("A product");
  expect([...sheet.querySelectorAll(":scope > p")].slice(0, 2).map((one) => one.textContent)).toEqual(["First.", "Second."]);
  expect(sheet.querySelector("pre")!.textContent).toBe("c = a * b");
  expect(sheet.querySelector(".given dt")!.textContent).toBe("g");
  expect(progress()).toBe("0 of 2");
});

test("a wrong answer is told with what came out and what was wanted, until something else is typed", async () => {
  await answer("g * a");
  expect(box.querySelector(".hole-said")!.textContent).toBe("The element [0] is wrong.");
  expect([...box.querySelectorAll(".verdict-cells figcaption")].map((one) => one.textContent)).toEqual(["got, 2", "wanted, 2"]);
  expect(progress()).toBe("0 of 2");
  const field = box.querySelector<HTMLInputElement>(".hole input")!;
  await act(() => {
    field.value = "g";
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
  expect(box.querySelector(".hole-said")!.textContent).toBe("");
});

test("a right answer solves it, and the next one is offered", async () => {
  await answer(" g * b ");
  expect(source.asked).toContainEqual({ type: "exercise", exercise_id: "one", answers: { a: "g * b" } });
  expect(box.querySelector(".hole-said")!.textContent).toBe("Right, also on other numbers.");
  expect(progress()).toBe("1 of 2");
  expect(box.querySelector(".exercise-list li")!.textContent).toContain("solved");
  await click("Next exercise");
  expect(box.querySelector("h2.clip, .exercise-sheet h2")!.textContent).toBe("A difference");
  expect(route.value.params.get("exercise")).toBe("two");
});

test("hints come one by one, and after the last of them the solution", async () => {
  await click("Hint");
  await click("Hint 2 of 2");
  await click("Show the solution");
  expect([...box.querySelectorAll(".hints li")].map((one) => one.textContent)).toEqual(["Look at b.", "It is scaled.", "Solution: g * b"]);
  expect(button("Show the solution")).toBeUndefined();
});

test("what was solved is forgotten only when that is said twice", async () => {
  await answer("g * b");
  await click("Reset progress");
  await click("Keep");
  expect(progress()).toBe("1 of 2");
  await click("Reset progress");
  await click("Forget them");
  expect(source.asked.at(-1)).toEqual({ type: "progress_reset" });
  expect(progress()).toBe("0 of 2");
  expect(box.querySelector<HTMLInputElement>(".hole input")!.value).toBe("");
});

test("an answer that cannot be checked is told, and stays in its field", async () => {
  source.answers.exercise = () => Promise.reject(new Error("no torch here"));
  await answer("g");
  expect(box.querySelector("[role=alert]")!.textContent).toBe("no torch here");
  expect(box.querySelector<HTMLInputElement>(".hole input")!.value).toBe("g");
});

test("the arrow keys go through the list", async () => {
  const list = box.querySelector(".exercise-list")!;
  await act(() => void list.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true, cancelable: true })));
  expect(box.querySelector(".exercise-sheet h2")!.textContent).toBe("A difference");
});
