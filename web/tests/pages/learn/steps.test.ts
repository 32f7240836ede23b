import { beforeEach, expect, test } from "vitest";
import { stepsOf, written } from "../../../src/pages/learn/steps";
import * as store from "../../../src/pages/learn/store";
import { cells, nodeWith, productLesson, stepWith } from "./samples";

beforeEach(() => {
  store.setGuessing(false);
  store.direction.value = "backward";
  store.showLesson(productLesson());
});

test("the steps of both ways are listed", () => {
  expect(stepsOf(productLesson(), "backward").map(({ target, title }) => `${target} ${title}`)).toEqual([
    "loss seed with 1",
    "y sum: 1 to each",
    "W matmul: xᵀ · g",
  ]);
  expect(stepsOf(productLesson(), "forward").map(({ target }) => target)).toEqual(["y", "loss"]);
});

/** What is known of a node at a step. */
function gradientAt(direction: "forward" | "backward", step: number, id: number): store.Arrived {
  store.setDirection(direction);
  store.setStep(step);
  return store.shownGradient(id);
}

test("a gradient is not there before it has arrived, and never where none is wanted", () => {
  expect(gradientAt("backward", 2, 1).state).toBe("not yet");
  expect(gradientAt("backward", 3, 1)).toMatchObject({ state: "arrived", isAll: true });
  expect(gradientAt("backward", 3, 0).state).toBe("none");
  expect(gradientAt("forward", 2, 1).state).toBe("not yet");
});

test("contributions add up one by one", () => {
  const [first, both] = [cells([1], [1]), cells([1], [3])];
  const lesson = productLesson({
    nodes: [nodeWith(0, "x"), nodeWith(1, "c", { parents: [0, 0] })],
    backward: [
      stepWith({ node: 1, to: 0, number: 1, num_all: 2, contribution: first, after: first }),
      stepWith({ node: 1, to: 0, number: 2, num_all: 2, contribution: cells([1], [2]), before: first, after: both }),
    ],
  });
  store.showLesson(lesson);
  expect(gradientAt("backward", 1, 0)).toMatchObject({ cells: first, isAll: false });
  expect(gradientAt("backward", 2, 0)).toMatchObject({ cells: both, isAll: true });
  expect(stepsOf(lesson, "backward")[1]!.edges).toEqual(["0-1-1"]);
});

test("values come one by one on the way forward", () => {
  store.setDirection("forward");
  expect([0, 1, 2, 3].map(store.isMade)).toEqual([true, true, true, false]);
  store.setDirection("backward");
  expect(store.isMade(3)).toBe(true);
});

test("a step goes along an edge", () => {
  const lesson = productLesson();
  expect(stepsOf(lesson, "backward").map(({ edges }) => edges)).toEqual([[], ["2-3-0"], ["1-2-0"]]);
  expect(stepsOf(lesson, "forward")[0]!.edges).toEqual(["0-2-0", "1-2-0"]);
  store.setStep(3);
  expect(store.currentNode.value!.line).toBe(3);
});

test("what has no name of its own is what was written", () => {
  expect(written(productLesson().nodes[2]!)).toBe("y = x @ W");
  expect(written(nodeWith(0, "add_1", { is_named: false, text: "a + b" }))).toBe("a + b");
});

test("steps keep within the lesson, and the element is chosen anew with each", () => {
  store.setStep(99);
  expect(store.step.value).toBe(3);
  expect(store.element.value).toBe(1); // the largest
  store.chosenElement.value = 0;
  expect(store.element.value).toBe(0);
  store.hoveredElement.value = 1;
  expect(store.element.value).toBe(1);
  store.setStep(-1);
  expect([store.step.value, store.chosenElement.value]).toEqual([1, null]);
});

test("what is to be guessed is hidden until it is shown, step by step", () => {
  store.setStep(2);
  store.setGuessing(true);
  expect(store.isHidden.value).toBe(true);
  expect(store.shownGradient(2).state).toBe("not yet");
  store.reveal();
  expect(store.isHidden.value).toBe(false);
  expect(store.shownGradient(2).state).toBe("arrived");
  store.setStep(3);
  expect(store.isHidden.value).toBe(true);
  store.setStep(1);
  expect(store.isHidden.value).toBe(false);
});

test("a lesson without a loss only goes forward", () => {
  store.showLesson(productLesson({ backward: [], loss: null }));
  expect(store.direction.value).toBe("forward");
  store.setDirection("backward");
  expect(store.direction.value).toBe("forward");
  expect(store.lossText.value).toBe("");
});

test("the seed, which is always 1, does not set the scale of the gradients", () => {
  const small = stepWith({ node: 3, to: 2, contribution: cells([1, 1], [0.01]) });
  store.showLesson(productLesson({ backward: [productLesson().backward[0]!, small] }));
  expect(store.limits.value.gradient).toBe(0.01);
});
