import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { control } from "../../../src/data/control";
import * as page from "../../../src/data/store";
import { TablesPanel } from "../../../src/pages/control/Workspace";
import { announceTable, chooseTable } from "../../../src/pages/control/tables/table-data";
import type { TableAnswer, TableRows } from "../../../src/wire";
import { controlWith, FakeControl } from "./answers";
import { partOf } from "./parts";

let box: HTMLElement;
let source: FakeControl;

beforeEach(async () => {
  box = document.body.appendChild(document.createElement("div"));
  source = new FakeControl();
  page.source.value = source;
  control.value = controlWith({ run_id: "b", run_ids: ["a", "b"], all_run_ids: ["z", "a", "b"] });
  await act(() => render(<TablesPanel />, box));
});

afterEach(async () => {
  chooseTable("train epochs");
  await act(() => render(null, box));
  box.remove();
});

async function says(name: string, parts: TableRows[], changes: Partial<TableAnswer> = {}): Promise<void> {
  const followed = source.open("table").find(({ question }) => question.type === "table" && question.name === name)!;
  const answer: TableAnswer = { type: "table", id: 1, is_all: true, parts, note: "", ...changes };
  await act(() => followed.listener.hear({ answer, buffer: new ArrayBuffer(0), offset: 0 }));
}

/** The run that is written now has a table that not every training has. */
async function hasTable(name: string): Promise<void> {
  const series = { kind: "table" as const, name, count: 1, last_step: 0, last_time: 0, last_value: null, num_bad: 0, first_bad_step: null, description: "" };
  await act(() => source.say({ type: "index", id: 1, runs: [{ run_id: "b", is_all: true, series: [series] }] }));
}

function rowsOf(label: string): string[][] {
  const rows = [...box.querySelectorAll(`table[aria-label="${label}"] tbody tr`)];
  return rows.map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent));
}

function press(role: string, name: string): Promise<void> {
  const found = [...box.querySelectorAll<HTMLElement>(`[role=${role}]`)].find((one) => one.textContent.startsWith(name));
  return act(() => found!.click());
}

const TRIALS = partOf("b", { run: [1, 1, 1], epoch: [5, 5, 5], trial: [0, 1, 2], loss: [0.5, 0.25, 0.125], error: [0, 1, 0] });

test("epochs are those of all runs since Init, the newest first, and that of now is marked", async () => {
  expect(source.open("table").map(({ question }) => question)).toMatchObject([
    { name: "train epochs", run_ids: ["a", "b"], only_last: false },
    { name: "test trials", run_ids: ["a", "b"], only_last: true },
  ]);
  await says("train epochs", [partOf("a", { epoch: [1], loss: [3.5] }), partOf("b", { epoch: [1], loss: [2.5] })]);
  await says("train epochs", [partOf("b", { epoch: [2], loss: [1.5] }, "2")], { is_all: false });
  expect(rowsOf("Train epochs")).toEqual([["2", "1.500"], ["1", "2.500"], ["1", "3.500"]]);
  expect(box.querySelector("[aria-current=true]")!.textContent).toBe("21.500");
  await act(() => box.querySelector<HTMLElement>("th button[title='Sort by Loss']")!.click());
  expect(rowsOf("Train epochs").map(([, loss]) => loss)).toEqual(["3.500", "2.500", "1.500"]);
  expect(box.querySelector("th[aria-sort]")!.getAttribute("aria-sort")).toBe("descending");
});

test("trials of the last test are filtered to the wrong ones", async () => {
  await says("test trials", [TRIALS]);
  expect(rowsOf("Test trials")).toEqual([["0", "right", "0.5000"], ["1", "wrong", "0.2500"], ["2", "right", "0.1250"]]);
  expect(box.textContent).toContain("epoch 5");
  expect(box.textContent).toContain("All 3");
  await press("radio", "Errors 1");
  expect(rowsOf("Test trials")).toEqual([["1", "wrong", "0.2500"]]);
  await says("test trials", [{ ...TRIALS, record: "2", rows: TRIALS.rows.map((row) => [...row.slice(0, 4), 0]) }], { is_all: false });
  expect(box.textContent).toContain("No trial was wrong.");
});

test("a row that is pressed, or entered, is tested and marked", async () => {
  await says("test trials", [TRIALS]);
  const grid = box.querySelector<HTMLElement>("table[aria-label='Test trials']")!;
  await act(() => grid.querySelectorAll<HTMLElement>("tbody tr")[1]!.click());
  expect(source.told).toEqual([{ type: "test_item", item: 1 }]);
  expect(grid.querySelector("[aria-selected=true] td")!.textContent).toBe("1");
  for (const key of ["ArrowDown", "Enter"]) {
    await act(() => void grid.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })));
  }
  // The next is told when the training had time to say how it is.
  await vi.waitFor(() => expect(source.told.at(-1)).toEqual({ type: "test_item", item: 2 }));
});

test("the items that were tested open as soon as they are there, or are announced to who looks elsewhere", async () => {
  const shown = (): string => box.querySelector("[role=tab][aria-selected=true]")!.textContent;
  await act(() => chooseTable("test items"));
  expect(shown()).toBe("Train epochs");
  await hasTable("test items");
  await says("test items", [partOf("b", { trial: [4], loss: [2.5] }), partOf("b", { trial: [7], loss: [1.5] }, "2")]);
  expect(shown()).toBe("Test items 2");
  expect(box.querySelector("[aria-current=true]")!.textContent).toBe("71.500");
  await press("tab", "Runs");
  await act(() => announceTable("test items"));
  const last = (): string => [...box.querySelectorAll("[role=tab]")].at(-1)!.textContent;
  expect(last()).toBe("Test items new");
  await press("tab", "Test items");
  await press("tab", "Runs");
  expect(last()).toBe("Test items");
});

test("runs are those of every Init", async () => {
  await press("tab", "Runs");
  const asked = source.open("table").map(({ question }) => question);
  expect(asked).toContainEqual({ type: "table", name: "runs", run_ids: ["z", "a", "b"], only_last: false });
  await says("runs", [partOf("z", { run: [0], hidden: [35] }), partOf("a", { run: [0], hidden: [35] })]);
  expect(rowsOf("Runs")).toEqual([["0"], ["0"]]); // they do not differ in the parameter
});

test("the test of the run before stays until the next has been tested", async () => {
  control.value = controlWith({ run_id: "c", run_ids: ["a", "b", "c"], all_run_ids: ["a", "b", "c"] });
  await act(() => undefined);
  await says("test trials", [TRIALS]);
  expect(box.textContent).toContain("run 1 · epoch 5");
  expect(rowsOf("Test trials")).toHaveLength(3);
});

test("other tables of the run have their tabs, and what cannot be read says so", async () => {
  await hasTable("mine");
  await press("tab", "Mine");
  await says("mine", [partOf("b", { word: ["<b>bold</b>"] })], { note: "Some rows cannot be shown." });
  expect(rowsOf("Mine")).toEqual([["<b>bold</b>"]]);
  expect(box.textContent).toContain("Some rows cannot be shown.");
});
