import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { readRoute, route } from "../../../src/data/route";
import * as page from "../../../src/data/store";
import { areas, shownView } from "../../../src/data/views";
import { LearnPage } from "../../../src/pages/learn/LearnPage";
import { pack, unpack } from "../../../src/pages/learn/address";
import { cancelOpening, chooseExample, closeLesson } from "../../../src/pages/learn/lessons";
import * as store from "../../../src/pages/learn/store";
import type { Lesson } from "../../../src/wire";
import { cells, CHECK, FakeLessons, productLesson } from "./samples";

const EXAMPLES = [
  { id: "product", title: "A product", about: "Two matrices.", source: "y = x @ W" },
  { id: "other", title: "Another", about: "Something else.", source: "loss = 2 * x" },
];

let box: HTMLElement;
let source: FakeLessons;
let lesson: Lesson;

beforeEach(() => {
  vi.stubGlobal("ResizeObserver", class { observe(): void { /* never */ } disconnect(): void { /* never */ } });
  Element.prototype.scrollIntoView = () => undefined;
  box = document.body.appendChild(document.createElement("div"));
  source = new FakeLessons();
  lesson = productLesson();
  source.answers = {
    lessons: () => ({ type: "lessons", id: 1, examples: EXAMPLES, exercises: [], functions: ["sums: sum(x)"] }),
    lesson: () => ({ type: "lesson", id: 1, lesson }),
    lesson_checks: () => ({ type: "lesson_checks", id: 1, checks: [CHECK] }),
  };
  store.catalogue.value = null;
  store.direction.value = "backward";
  store.pageMode.value = "expressions";
  store.setGuessing(false);
  store.fixedLimits.value = { value: null, gradient: null };
  closeLesson();
  page.source.value = source;
});

afterEach(async () => {
  await act(() => render(null, box));
  box.remove();
  vi.unstubAllGlobals();
});

async function open(address: string): Promise<void> {
  route.value = readRoute(address);
  await act(() => render(<LearnPage />, box));
  await settled();
}

/** What was asked has been answered and drawn. */
async function settled(): Promise<void> {
  for (let round = 0; round < 4; round += 1) await act(() => new Promise<void>((done) => void setTimeout(done)));
}

async function press(key: string, target: EventTarget = document.body, parts: KeyboardEventInit = {}): Promise<void> {
  await act(() => void target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...parts })));
}

async function type(field: HTMLInputElement | HTMLTextAreaElement, text: string): Promise<void> {
  await act(() => {
    field.value = text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

function button(name: string): HTMLButtonElement {
  return [...box.querySelectorAll("button")].find((one) => (one.getAttribute("aria-label") ?? one.textContent) === name)!;
}

async function click(one: Element): Promise<void> {
  await act(() => (one as HTMLElement).click());
  await settled();
}

function title(): string {
  return box.querySelector("[aria-label='Current step'] .panel-head")!.textContent;
}

test("a server for lessons alone has one view, and begins with it", () => {
  route.value = readRoute("");
  expect(shownView.value).toBe("learn");
  expect(areas.value).toEqual(["learn"]);
  source.hasLessons.value = false;
  expect(shownView.value).toBe("graph");
});

test("where nothing is chosen the examples are offered, and one is taken apart", async () => {
  await open("#learn");
  expect(box.querySelectorAll(".example-card").length).toBe(2);

  await click(box.querySelector(".example-card")!);

  expect(source.asked).toContainEqual({ type: "lesson", source: "y = x @ W" });
  expect(title()).toBe("Step 1at loss = y.sum()");
  expect(box.querySelectorAll(".learn-card").length).toBe(4);
  expect(route.value.params.get("example")).toBe("product");
});

test("the address leads to a step, and says where one has gone", async () => {
  await open("#learn?example=product&way=backward&step=3");
  expect(title()).toBe("Step 3through y = x @ W to W");
  expect(box.querySelector(".code-line.on")!.textContent).toBe("3y = x @ W");
  expect(box.querySelector("[data-testid=element]")!.textContent).toBe("W[1, 0]2 × 1 = 2");

  await press("ArrowLeft");
  expect(route.value.params.get("step")).toBe("2");
  await press("b");
  expect([route.value.params.get("way"), route.value.params.get("step")]).toEqual(["forward", "1"]);
});

test("keys go through the steps, but not out of a field or over a list", async () => {
  await open("#learn?example=product&step=1");
  await press("ArrowRight");
  expect(store.step.value).toBe(2);
  await press("ArrowRight", document.body, { shiftKey: true });
  expect(store.step.value).toBe(3);
  await press("Home");
  expect(store.step.value).toBe(1);
  await press("ArrowDown", box.querySelector(".learn-steps")!);
  expect(store.step.value).toBe(2);
  await press("ArrowLeft", box.querySelector("select")!);
  expect(store.step.value).toBe(2);
  await press("End");
  await press(" ");
  expect([store.isPlaying.value, store.step.value]).toEqual([true, 1]);
  await press(" ");
  expect(store.isPlaying.value).toBe(false);
});

test("the checks come after the steps, and say what is near enough and what is not", async () => {
  let answer = (): void => undefined;
  source.answers.lesson_checks = () => new Promise((resolve) => (answer = () => resolve({ type: "lesson_checks", id: 1, checks: [CHECK] })));
  await open("#learn?example=product&step=3");
  const rows = (): string[] => [...box.querySelectorAll(".checks tbody tr")].map((row) => row.textContent);
  expect(rows()).toEqual(["ours2.000000––", "torchon its way", "finite differenceon its way"]);

  answer();
  await settled();

  expect(rows()).toEqual(["ours2.000000––", "torch2.00000000within 1e−6", "finite difference2.0001001.0e−41.0e−4over 1e−5"]);
});

test("an element that is chosen by keys is outlined in all factors", async () => {
  await open("#learn?example=product&step=3");
  const grid = box.querySelector("[role=grid]")!;
  await press("ArrowUp", grid);
  expect(box.querySelector("[data-testid=element]")!.textContent).toBe("W[0, 0]1 × 1 = 1");
  expect([...box.querySelectorAll(".product .marked")].map((cell) => cell.textContent)).toEqual(["1.00", "1.00", "1.00"]);
  await press("ArrowUp", grid);
  expect(store.element.value).toBe(0);
});

test("a node that is chosen shows its numbers, until Escape", async () => {
  await open("#learn?example=product&step=1");
  await click(box.querySelector("[data-node='1']")!);
  const part = (): Element | null => box.querySelector("[aria-label='Numbers of W']");
  expect(part()!.textContent).toContain("Its gradient has not arrived yet.");
  expect([...part()!.querySelectorAll("td")].map((cell) => cell.textContent)).toEqual(["3.00", "4.00"]);
  await press("End");
  expect([...part()!.querySelectorAll("td")].map((cell) => cell.textContent)).toEqual(["3.00", "4.00", "1.00", "2.00"]);
  await press("Escape");
  expect(part()).toBeNull();
});

test("guessing hides a contribution until it is guessed or shown", async () => {
  await open("#learn?example=product&step=3");
  await act(() => store.setGuessing(true));
  expect([...box.querySelectorAll(".secret")].map((cell) => cell.textContent)).toEqual(["?", "?"]);
  expect(box.querySelector(".checks")).toBeNull();
  expect(box.querySelector("[data-node='1']")!.textContent).toContain("not yet");

  const field = box.querySelector<HTMLInputElement>("#guess")!;
  await type(field, "7");
  await act(() => void box.querySelector("form.guess")!.dispatchEvent(new Event("submit", { bubbles: true, cancelable: true })));
  expect(box.querySelector(".guess [role=status]")!.textContent).toBe("No: it is smaller.");
  await type(field, "2");
  await act(() => void box.querySelector("form.guess")!.dispatchEvent(new Event("submit", { bubbles: true, cancelable: true })));
  expect(box.querySelector(".guess [role=status]")!.textContent).toContain("Right.");

  await press("Enter");
  expect(box.querySelector(".secret")).toBeNull();
});

test("an edited expression is run; its fault is shown under its line, and what came before can be stepped", async () => {
  await open("#learn?example=product&step=1");
  await click(button("Edit"));
  const field = box.querySelector<HTMLTextAreaElement>("textarea")!;
  expect(field.value).toBe("y = x @ W");
  lesson = productLesson({ fault: { line: 4, message: "z is not known." }, backward: [], loss: null, forward: [2], title: "" });

  await type(field, "y = x @ W\nloss = z");
  await press("Enter", field, { ctrlKey: true });
  await settled();

  expect(source.asked).toContainEqual({ type: "lesson", source: "y = x @ W\nloss = z" });
  expect(box.querySelector("textarea")).toBeNull();
  expect(box.querySelector(".code-line.bad + .code-fault")!.textContent).toBe("z is not known.");
  expect(title()).toBe("Step 1y = x @ W");
  expect(store.isOwn.value).toBe(true);
  await vi.waitFor(() => expect(route.value.params.get("source")).toBeTruthy());
  expect(await unpack(route.value.params.get("source")!)).toBe("y = x @ W\nloss = z");
});

test("without a connection one can step, but not run anything new, and the reason is said", async () => {
  await open("#learn?example=product&step=1");
  await act(() => void (source.connection.value = { state: "lost", lastHeard: 0, retryAt: 0 }));
  expect(button("Edit").getAttribute("aria-disabled")).toBe("true");
  expect(button("Edit").title).toBe("The connection to the server is lost.");
  await press("ArrowRight");
  expect(title()).toBe("Step 2through loss = y.sum() to y");
});

test("an expression that cannot be asked leaves what was shown", async () => {
  await open("#learn?example=product&step=2");
  source.answers.lesson = () => Promise.reject(new Error("too much at once"));
  await click(button("Edit"));
  await press("Enter", box.querySelector("textarea")!, { ctrlKey: true });
  await settled();
  expect(box.querySelector(".editor")!.textContent).toContain("too much at once");
  expect(box.querySelectorAll(".learn-card").length).toBe(4);
});

/** An answer that only comes when the test says so; what is asked for then. */
function held(): () => void {
  let answer = (): void => undefined;
  source.answers.lesson = () => new Promise((resolve) => (answer = () => resolve({ type: "lesson", id: 1, lesson })));
  return () => answer();
}

/** With a clock of the test: five seconds are waited for in no time. */
async function wait(milliseconds: number): Promise<void> {
  await act(async () => {
    await vi.advanceTimersByTimeAsync(milliseconds);
  });
}

test("a lesson that takes over five seconds can be cancelled, and the one before is as it was", async () => {
  await open("#learn?example=product&way=backward&step=3");
  const answer = held();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    await act(() => {
      const select = box.querySelector<HTMLSelectElement>("[aria-label=Example]")!;
      select.value = "other";
      select.dispatchEvent(new Event("change", { bubbles: true }));
    });
    expect(box.querySelector("[role=progressbar]")!.getAttribute("aria-label")).toBe("Taking Another apart");
    await wait(4900);
    expect(button("Cancel")).toBeUndefined();
    await wait(200);

    await act(() => button("Cancel").click());
  } finally {
    vi.useRealTimers();
  }

  expect([store.opening.value.state, store.exampleId.value, store.sourceText.value]).toEqual(["shown", "product", "y = x @ W"]);
  expect(box.querySelector("[role=progressbar]")).toBeNull();
  expect(title()).toBe("Step 3through y = x @ W to W");
  expect(route.value.params.get("example")).toBe("product");
  lesson = productLesson({ title: "Too late" });
  answer();
  await settled();
  expect([store.lesson.value!.title, store.exampleId.value]).toEqual(["A product", "product"]);
});

test("each lesson that is asked for has its own five seconds", async () => {
  await open("#learn?example=product&step=1");
  held();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    await act(() => chooseExample(EXAMPLES[1]!));
    await wait(4000);
    await act(() => chooseExample(EXAMPLES[1]!));
    await wait(2000);
    expect(button("Cancel")).toBeUndefined();
    await wait(3100);
    expect(button("Cancel")).toBeDefined();
  } finally {
    vi.useRealTimers();
  }
});

test("with nothing before it, a lesson that is cancelled leaves the examples", async () => {
  const answer = held();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    route.value = readRoute("#learn?example=product");
    await act(() => render(<LearnPage />, box));
    // What is asked first are the examples.
    await wait(10);
    await wait(10);
    await wait(5100);
    await act(() => button("Cancel").click());
  } finally {
    vi.useRealTimers();
  }
  answer();
  await settled();
  expect([store.lesson.value, box.querySelectorAll(".example-card").length]).toEqual([null, 2]);
});

test("checks that were on their way when another lesson was asked for are asked for again", async () => {
  source.answers.lesson_checks = () => new Promise(() => undefined);
  await open("#learn?example=product&step=3");
  held();
  await act(() => chooseExample(EXAMPLES[1]!));
  source.answers.lesson_checks = () => ({ type: "lesson_checks", id: 1, checks: [CHECK] });
  await act(() => cancelOpening());
  await settled();
  expect(store.checking.value.state).toBe("shown");
});

async function enter(name: string, text: string): Promise<void> {
  await act(() => {
    const field = box.querySelector<HTMLInputElement>(`[aria-label='${name}']`)!;
    field.value = text;
    field.dispatchEvent(new Event("change", { bubbles: true }));
  });
}

test("the limits of the colours are in numbers, and can be fixed and set free", async () => {
  await open("#learn?example=product&step=3");
  const said = (): string[] => [...box.querySelectorAll(".ramp-ends")].map((one) => one.textContent);
  const cell = (): string => box.querySelector("[role=grid] td")!.className;
  expect(said()).toEqual(["≤ −11values≥ 11", "≤ −2gradients≥ 2"]);
  const free = cell();

  await enter("Limit of gradients", "100");
  expect(said()).toEqual(["≤ −11values≥ 11", "≤ −100gradientsfixed ≥ 100"]);
  expect(cell()).not.toBe(free);

  await enter("Limit of gradients", "-1");
  expect(box.querySelector(".scale-end [role=alert]")!.textContent).toBe("A limit is a number over 0, or nothing for automatic.");
  expect(store.limits.value.gradient).toBe(100);

  await click(button("Auto limit of gradients"));
  expect(said()[1]).toBe("≤ −2gradients≥ 2");
  expect(cell()).toBe(free);
  expect(box.querySelector(".scale-end [role=alert]")).toBeNull();
});

test("the way forward shows the line of an op, its inputs and result, and an element written out", async () => {
  lesson.nodes[2] = { ...lesson.nodes[2]!, value: cells([2, 1], [11, 25]) };
  lesson.nodes[0] = { ...lesson.nodes[0]!, value: cells([2, 2], [1, 2, 3, 4]) };
  await open("#learn?example=product&way=forward&step=1");
  const element = (): string => box.querySelector("[data-testid=element]")!.textContent;
  const marked = (): string[] => [...box.querySelectorAll("[aria-label='Current step'] .marked")].map((cell) => cell.textContent);
  expect(box.querySelector(".forward-line")!.textContent).toBe("y = x @ W");
  expect(element()).toBe("y[1, 0]3 × 3 + 4 × 4 = 25");
  expect(marked()).toEqual(["3.00", "4.00", "3.00", "4.00", "25.00"]);

  await press("ArrowUp", box.querySelector("table[aria-label=y]")!);
  expect(element()).toBe("y[0, 0]1 × 3 + 2 × 4 = 11");
  expect(marked()).toEqual(["1.00", "2.00", "3.00", "4.00", "11.00"]);
});

test("what is long is not packed into an address, and what is broken is not unpacked", async () => {
  const long = Array.from({ length: 3000 }, (_, at) => String((at * 7919) % 10007)).join(" ");
  expect(await pack(long)).toBeNull();
  expect(await unpack("nonsense!")).toBeNull();
  const packed = (await pack("loss = ä * 2"))!;
  expect(packed).toMatch(/^[\w-]+$/);
  expect(await unpack(packed)).toBe("loss = ä * 2");
});
