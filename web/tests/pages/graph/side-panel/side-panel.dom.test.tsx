import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type EmbeddedData, EmbeddedSource } from "../../../../src/data/embedded";
import { startSession } from "../../../../src/data/session";
import * as store from "../../../../src/data/store";
import { SidePanel, tabChosen } from "../../../../src/pages/graph/side-panel/SidePanel";
import type { PassDocument } from "../../../../src/wire";
import { opWith, smallDocument, viewOf } from "../../../samples";

let place: HTMLElement;

function base64Of(values: number[]): string {
  return btoa(String.fromCharCode(...new Uint8Array(new Float32Array(values).buffer)));
}

async function show(document: PassDocument, parts: Partial<EmbeddedData> = {}): Promise<void> {
  const data: EmbeddedData = { document, tensors: [], figures: {}, notes: [], ...parts };
  store.passId.value = null;
  await act(async () => {
    startSession(new EmbeddedSource(JSON.stringify(data)));
    await Promise.resolve();
  });
  await act(() => render(<SidePanel OverRun={null} />, place));
}

async function selectOp(index: number): Promise<void> {
  await act(async () => {
    store.select(store.hierarchy.value!.nodeOfOp[index]!);
    await Promise.resolve();
  });
  await act(() => Promise.resolve());
}

const press = async (name: string): Promise<void> => {
  const button = [...place.querySelectorAll("button")].find(
    (one) => one.textContent.trim() === name || one.getAttribute("aria-label") === name,
  )!;
  await act(async () => {
    button.click();
    await Promise.resolve();
  });
  await act(() => Promise.resolve());
};

const exact = (): (string | undefined)[] =>
  [...place.querySelectorAll<HTMLElement>("[data-exact]")].map((cell) => cell.dataset.exact);

beforeEach(() => {
  place = document.createElement("div");
  document.body.append(place);
  tabChosen.value = "Output";
});
afterEach(() => {
  render(null, place);
  place.remove();
});

const conv = {
  kind: "output" as const,
  index: 1,
  view: viewOf([1, 2, 1, 3], { item: [0], num_tiles: 2, num_columns: 3 }, { mean: 1.5, num_nan: 1 }),
  data: base64Of([0.1, -2, Number.NaN, 4, 5, 6]),
};

test("a selected op shows its values, exactly, and its figures", async () => {
  await show(smallDocument(), { tensors: [conv] });
  await selectOp(1);
  expect(place.querySelector("h1")!.textContent).toBe("features.conv");
  expect(exact()).toEqual(["0.1", "\u22122", "NaN"]);
  expect(place.querySelector("[data-figure=mean]")!.textContent).toBe("1.500");
  expect(place.querySelector("[data-figure=nonfinite]")!.className).toContain("bad");
  expect(place.textContent).toContain("[0, 0, 0, 0:3]");
});

test("the input of an op is the output of its parent", async () => {
  await show(smallDocument(), { tensors: [conv] });
  await selectOp(2);
  expect(exact()).toEqual([]);
  await press("Input");
  expect(exact()).toEqual(["0.1", "\u22122", "NaN"]);
});

test("the tab stays when another op is selected that has it", async () => {
  await show(smallDocument(), { tensors: [conv] });
  await selectOp(2);
  await press("Input");
  await selectOp(3);
  expect(place.querySelector("[role=tab][aria-selected=true]")!.textContent).toBe("Input");
  await selectOp(0);
  expect(place.querySelector("[role=tabpanel]")!.getAttribute("aria-label")).toBe("Output");
});

test("a tensor left out of the file, and one never saved, say why", async () => {
  const document = smallDocument();
  document.ops[3] = opWith({ ...document.ops[3]!, has_value: false });
  await show(document);
  await selectOp(2);
  expect(place.textContent).toContain("Not in this file");
  await selectOp(3);
  expect(place.textContent).toContain("layers_to_save");
});

test("hostile names are text", async () => {
  const hostile = "<img src=x onerror=alert(1)>";
  const document = smallDocument();
  document.model_name = hostile;
  document.notes = [hostile];
  document.error = `RuntimeError: ${hostile}`;
  document.ops[2] = opWith({
    ...document.ops[2]!,
    label: hostile,
    arguments: hostile,
    grad_fn: hostile,
    scope: 0,
  });
  document.sources = [
    { file: hostile, line: 3, function: hostile, text: hostile, context: [hostile], context_start: 3 },
  ];
  document.ops[2].source = 0;
  await show(document);
  expect(place.querySelector("h1")!.textContent).toBe(hostile);
  await selectOp(2);
  expect(place.textContent.split(hostile).length).toBeGreaterThan(4);
  expect(place.querySelector("img")).toBeNull();
});

test("nothing selected shows the pass, with how it ended and what the file leaves out", async () => {
  const document = smallDocument();
  document.error = "RuntimeError: shapes do not match";
  store.pageNotes.value = ["3 weights are not in this file"];
  await show(document);
  expect(place.textContent).toContain("The model raised after op 4");
  expect(place.textContent).toContain("shapes do not match");
  expect(place.textContent).toContain("3 weights are not in this file");
  await press("Go to op 4, the last that ran");
  expect(store.selected.value).toBe(store.hierarchy.value!.nodeOfOp[3]);
  store.pageNotes.value = [];
});

test("parents and children are links that select", async () => {
  await show(smallDocument());
  await selectOp(2);
  await press("output_1_3");
  expect(store.selected.value).toBe(store.hierarchy.value!.nodeOfOp[3]);
  await press("add_1_2");
  expect(store.selected.value).toBe(store.hierarchy.value!.nodeOfOp[2]);
});
