import { expect, test } from "vitest";
import { EmbeddedSource, type EmbeddedData } from "../../src/data/embedded";
import { smallDocument, viewOf, windowWith } from "../samples";

function base64Of(values: number[]): string {
  return btoa(String.fromCharCode(...new Uint8Array(new Float32Array(values).buffer)));
}

function page(parts: Partial<EmbeddedData> = {}): EmbeddedSource {
  const data: EmbeddedData = {
    document: smallDocument(),
    tensors: [
      {
        kind: "output",
        index: 1,
        view: viewOf([2, 3], { num_rows: 2, num_columns: 3 }),
        data: base64Of([1, 2, 3, 4, 5, 6]),
      },
    ],
    figures: { zeros: [null, 0.5, 0.25, null] },
    notes: ["two tensors were left out"],
    ...parts,
  };
  return new EmbeddedSource(JSON.stringify(data));
}

test("the page's own pass is the one there is", async () => {
  const source = page();
  expect(source.passes.value.map(({ name }) => name)).toEqual(["Net"]);
  expect((await source.openPass()).document.ops.length).toBe(4);
  expect(source.notes).toEqual(["two tensors were left out"]);
});

test("a tensor in the page comes with its values", async () => {
  expect(await page().tensor("", "output", 1, null)).toMatchObject({
    values: new Float32Array([1, 2, 3, 4, 5, 6]),
  });
});

test("a part of it is cut from it", async () => {
  const window = windowWith({ first_row: 1, num_rows: 1, first_column: 1, num_columns: 2 });
  expect(await page().tensor("", "output", 1, window)).toMatchObject({
    values: new Float32Array([5, 6]),
    view: { window },
  });
});

test("what is not in the page is said to be missing, with the way to see it", async () => {
  for (const answer of [
    await page().tensor("", "output", 2, null),
    await page().tensor("", "grad", 1, null),
    await page().tensor("", "output", 1, windowWith({ num_rows: 3 })),
  ]) {
    expect(answer).toHaveProperty("missing");
    expect((answer as { missing: string }).missing).toContain("torcheer view");
  }
});

test("a tensor that cannot be shown says its own reason", async () => {
  const source = page({ reasons: [{ kind: "output", index: 2, reason: "sparse: too large to write out" }] });
  expect(await source.tensor("", "output", 2, null)).toEqual({ missing: "sparse: too large to write out" });
});

test("figures come by name, and an unknown name is refused", async () => {
  expect(await page().figures("", "zeros")).toEqual([null, 0.5, 0.25, null]);
  await expect(page().figures("", "nothing")).rejects.toThrow();
});

test("what is no page's data is refused at once", () => {
  expect(() => new EmbeddedSource("{")).toThrow();
  expect(() => new EmbeddedSource('{"document": {}}')).toThrow("no pass");
});
