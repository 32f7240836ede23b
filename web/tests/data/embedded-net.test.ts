import { deflateSync } from "node:zlib";
import { expect, test } from "vitest";
import type { EmbeddedPiece } from "../../src/data/embedded";
import { type EmbeddedFrame, type EmbeddedNet, EmbeddedNetSource, type WeightAxes } from "../../src/data/embedded-net";
import { blocksOf } from "../../src/data/network/feeds";
import { LEVELS, NOT_THERE, type PlateValues, valueOf } from "../../src/data/network/store";
import type { Asked, Reply } from "../../src/data/source";
import type { Connection, NetLayer } from "../../src/wire";

const WHERE = { run_id: "file", rank: 0 };

function layer(name: string, shape: number[], variables = ["Act"]): NetLayer {
  const num_units = shape.reduce((all, size) => all * size, 1);
  const grid = { num_units, tiles_across: 1, tiles_down: 1, columns: num_units, rows: 1, gap: 0, is_colour: false };
  const place = { relation: null, other: "", offset: [0, 0, 0], scale: 1 };
  return { name, module: "", shape, grid, variables, place, is_input: false, has_items: true, note: "" };
}

function exact(values: number[], parts: Partial<EmbeddedPiece> = {}): EmbeddedPiece {
  const bytes = Buffer.from(new Float32Array(values).buffer);
  const data = (parts.deflated === true ? deflateSync(bytes) : bytes).toString("base64");
  return { step: 0, count: values.length, encoding: "f4", data, ...parts };
}

function levels(codes: number[], low: number, high: number): EmbeddedPiece {
  const data = Buffer.from(new Uint16Array(codes).buffer).toString("base64");
  return { step: 0, count: codes.length, encoding: "u2", low, high, data };
}

function source(parts: Partial<EmbeddedNet> & { layers?: NetLayer[]; connections?: Connection[] }): EmbeddedNetSource {
  const { layers = [layer("a", [3])], connections = [], ...rest } = parts;
  const scene = { layers, connections };
  const net = {
    scene: { type: "net_scene", id: 0, scene, variables: [], source: "netview", num_items: 1, ranks: [0], note: "" },
    moments: { type: "net_moments", id: 0, is_all: true, steps: [0, 5], times: [1, 2], counters: {}, ranges: [], is_running: false },
    runs: { type: "runs", id: 0, folder: "", is_all: true, runs: [{ id: "file", name: "first" }], gone: [], note: "" },
    index: { type: "index", id: 0, runs: [] },
    weights: [],
    axes: [],
    max_bytes: 1000,
    is_exact: true,
    frames: [],
    weight_frames: [],
    pieces: [],
    ...rest,
  };
  return new EmbeddedNetSource(JSON.stringify(net));
}

function frame(step: number, ...pieces: EmbeddedFrame["pieces"]): EmbeddedFrame {
  return { step, variable: "Act", item: 0, pieces };
}

function valuesAsked(step: number, layers: string[], more: { variable?: string; item?: number } = {}): Asked {
  return { type: "net_values", ...WHERE, step, variable: "Act", item: 0, layers, ...more };
}

function blocks(reply: Reply, numMoments = 1): Map<string, PlateValues> {
  if (!("blocks" in reply.answer)) throw new Error(reply.answer.type);
  return blocksOf(reply, reply.answer.blocks as Parameters<typeof blocksOf>[1], numMoments);
}

function read(block: PlateValues | undefined): (number | null)[] {
  if (block === undefined) throw new Error("no block");
  return [...block.levels].map((level, at) => (level === NOT_THERE ? null : (valueOf(block, at) ?? Number.NaN)));
}

// --- values --------------------------------------------------------------------------------------

test("values of a moment come as levels between the lowest and the highest", async () => {
  const page = source({ frames: [frame(5, 0)], pieces: [exact([-1, 0.5, 3], { step: 4, deflated: true })] });
  const block = blocks(await page.ask(valuesAsked(5, ["a"]))).get("a");
  expect(block).toMatchObject({ low: -1, high: 3, step: 4, why: "" });
  expect([...(block?.levels ?? [])]).toEqual([0, Math.round((1.5 / 4) * LEVELS), LEVELS]);
});

test("what is no number keeps its code, and a layer of one value has the level 0", async () => {
  const pieces = [exact([Number.NaN, Infinity, 2]), exact([7, 7, 7])];
  const page = source({ frames: [frame(0, 0), frame(5, 1)], pieces });
  expect([...(blocks(await page.ask(valuesAsked(0, ["a"]))).get("a")?.levels ?? [])]).toEqual([65_535, 65_534, 0]);
  expect(blocks(await page.ask(valuesAsked(5, ["a"]))).get("a")).toMatchObject({ low: 7, high: 7 });
});

test("what is not in the file says why, and is never an error", async () => {
  const layers = [layer("a", [3]), layer("b", [2]), layer("c", [2])];
  const page = source({ layers, frames: [frame(5, 0, null, "it was thinned out")], pieces: [exact([1, 2, 3])] });
  const whys = async (asked: Asked): Promise<string[]> => [...blocks(await page.ask(asked)).values()].map(({ why }) => why);
  const [a, b, c, d] = await whys(valuesAsked(5, ["a", "b", "c", "d"]));
  expect(a).toBe("");
  expect(b).toContain("Not in this file");
  expect(c).toBe("it was thinned out");
  expect(d).toContain("no such layer");
  expect((await whys(valuesAsked(0, ["a"])))[0]).toContain("Not in this file");
  expect((await whys(valuesAsked(5, ["a"], { item: 1 })))[0]).toContain("Not in this file");
  expect((await whys(valuesAsked(5, ["a"], { variable: "Grad" })))[0]).toContain("Grad was not recorded");
});

test("a file that was cut is refused with the way to a whole one", async () => {
  const page = source({ frames: [frame(5, 0)], pieces: [{ ...exact([1, 2, 3]), count: 4 }] });
  await expect(page.ask(valuesAsked(5, ["a"]))).rejects.toThrow("view.write_html");
  expect(() => new EmbeddedNetSource("{")).toThrow();
  expect(() => new EmbeddedNetSource('{"scene": {"scene": {}}, "frames": [], "pieces": []}')).toThrow("no network");
});

// --- one unit ------------------------------------------------------------------------------------

const UNIT = { ...WHERE, layer: "a", item: 0 };

test("an exact value comes as it is, a rounded one says so and has no digit too many", async () => {
  const page = source({ frames: [frame(0, 0), frame(5, 1)], pieces: [exact([0.1, 2, 3]), levels([0, 20_001, LEVELS], -1, 2)] });
  const said = async (step: number, unit: number): Promise<unknown> => {
    const { answer } = await page.ask({ type: "net_unit", ...UNIT, unit, step });
    return answer.type === "net_unit" ? answer.values.Act : null;
  };
  expect(await said(0, 0)).toBe(Math.fround(0.1));
  expect(await said(5, 1)).toBe("≈ −0.08436");
  expect(await said(5, 2)).toBe("≈ 2");
});

test("zero between two levels is not said to be a tiny number", async () => {
  const page = source({ frames: [frame(5, 0)], pieces: [levels([21_844, 0, LEVELS], -1, 2)] });
  const { answer } = await page.ask({ type: "net_unit", ...UNIT, unit: 0, step: 5 });
  expect(answer).toMatchObject({ values: { Act: "≈ 0" } });
});

test("over time a record counts once, also where it holds for several moments", async () => {
  const one = { ...frame(0, 0), variable: "Act" };
  const bias = (step: number): EmbeddedFrame => ({ ...frame(step, 2), variable: "Bias" });
  const page = source({
    layers: [layer("a", [3], ["Act", "Bias"])],
    frames: [one, frame(5, 1), bias(0), bias(5)],
    pieces: [exact([1, 2, 3]), exact([4, 5, 6], { step: 5 }), exact([7, 8, 9])],
  });
  const asked = { type: "net_unit_series", ...UNIT, unit: 1, low: null, high: null, most: 10 } as const;
  const { answer, buffer } = await page.ask(asked);
  expect(answer).toMatchObject({ variables: ["Act", "Bias"], counts: [2, 1] });
  expect([...new Float64Array(buffer)]).toEqual([0, 5, 2, 5, 0, 8]);
});

test("a raster has all moments on one scale", async () => {
  const page = source({ frames: [frame(0, 0), frame(5, 1)], pieces: [exact([0, 1, 2]), exact([4, 8, 2], { step: 5 })] });
  const asked: Asked = { type: "net_raster", ...WHERE, step: 5, variable: "Act", item: 0, layers: ["a"], num_moments: 9 };
  const reply = await page.ask(asked);
  expect(reply.answer).toMatchObject({ steps: [0, 5] });
  const found = read(blocks(reply, 2).get("a"));
  [0, 1, 2, 4, 8, 2].forEach((value, at) => expect(found[at]).toBeCloseTo(value, 3));
});

// --- weights -------------------------------------------------------------------------------------

function connection(parts: Partial<Connection>): Connection {
  const geometry = { stride: [], padding: [], dilation: [], groups: 1 };
  return { source: "in", target: "out", form: "linear", weight: "w", bias: null, is_transposed: false, ...geometry, ...parts };
}

interface Net {
  from: number[];
  to: number[];
  /** As netview/weight_axes.py finds them, which its own tests hold against torch. */
  axes: WeightAxes | null;
  count: number;
}

/** A network of two layers, with weights that are all different. */
function weighted({ from, to, axes, count }: Net): { page: EmbeddedNetSource; weight: number[] } {
  const weight = Array.from({ length: count }, (_, at) => at + 1);
  const page = source({
    layers: [layer("in", from), layer("out", to)],
    connections: [connection({})],
    axes: [axes],
    weights: ["w"],
    weight_frames: [{ step: 5, variable: "Wt", item: 0, pieces: [0] }],
    pieces: [exact(weight)],
  });
  return { page, weight };
}

async function weightsOf(page: EmbeddedNetSource, name: string, unit: number): Promise<(number | null)[]> {
  const direction = name === "out" ? "received" : "sent";
  const asked = { type: "net_weights", ...WHERE, step: 5, layer: name, unit, item: 0, direction, variable: "Wt" } as const;
  return read(blocks(await page.ask(asked)).get(name === "out" ? "in" : "out"));
}

/** All that connects the two layers, by what the units of one receive, and of the other send. */
async function bothWays({ page }: { page: EmbeddedNetSource }, numIn: number, numOut: number): Promise<(number | null)[][][]> {
  const received = await Promise.all(Array.from({ length: numOut }, (_, unit) => weightsOf(page, "out", unit)));
  const sent = await Promise.all(Array.from({ length: numIn }, (_, unit) => weightsOf(page, "in", unit)));
  return [received, Array.from({ length: numOut }, (_, out) => sent.map((row) => row[out] ?? null))];
}

/** Equal but for the rounding of levels. */
function expectClose(found: (number | null)[][], expected: (number | null)[][]): void {
  const rounded = (rows: (number | null)[][]) => rows.map((row) => row.map((value) => (value === null ? null : Math.round(value))));
  expect(rounded(found)).toEqual(rounded(expected));
}

test("a linear layer over rows connects rows of the same number", async () => {
  const axes = [
    { count: 2, source: 3, target: 4, weight: 0 },
    { count: 4, source: 0, target: 1, weight: 3 },
    { count: 3, source: 1, target: 0, weight: 1 },
  ];
  const net = weighted({ from: [2, 3], to: [2, 4], axes: { first: 0, axes }, count: 12 });
  const expected = Array.from({ length: 8 }, (_, out) =>
    Array.from({ length: 6 }, (_, from) =>
      Math.floor(out / 4) === Math.floor(from / 3) ? net.weight[(out % 4) * 3 + (from % 3)]! : null,
    ),
  );
  for (const found of await bothWays(net, 6, 8)) expectClose(found, expected);
});

test.each([
  { stride: [1], padding: [0], dilation: [1], groups: 1, wide: 7 },
  { stride: [2], padding: [1], dilation: [1], groups: 1, wide: 7 },
  { stride: [2], padding: [2], dilation: [2], groups: 2, wide: 8 },
  { stride: [3], padding: [1], dilation: [1], groups: 2, wide: 8 },
])("a kernel lies where it reads, and what it lies on sends to it: $stride $padding $dilation $groups", async (one) => {
  const { wide, groups } = one;
  const [stride, padding, dilation] = [one.stride[0]!, one.padding[0]!, one.dilation[0]!];
  const narrow = Math.floor((wide + 2 * padding - dilation * 2 - 1) / stride) + 1;
  const [maps, out] = [4 / groups, 2];
  // By its definition: output[m, i] is the sum of weight[m, c, k] * input[c, i * stride - padding + k * dilation].
  const jacobian = (weight: number[]): (number | null)[][] => {
    const rows = Array.from({ length: out * narrow }, () => Array.from({ length: 4 * wide }, (): number | null => null));
    for (let map = 0; map < out; map++)
      for (let place = 0; place < narrow; place++)
        for (let channel = 0; channel < maps; channel++)
          for (let tap = 0; tap < 3; tap++) {
            const at = place * stride - padding + tap * dilation;
            const from = Math.floor(map / (out / groups)) * maps + channel;
            if (at >= 0 && at < wide) rows[map * narrow + place]![from * wide + at] = weight[(map * maps + channel) * 3 + tap]!;
          }
    return rows;
  };
  const numNarrow = out / groups;
  const slide = (wider: string): NonNullable<WeightAxes["axes"][number]["slide"]> => [3, stride, padding, dilation, wide, wider === "source"];
  const axesFrom = (wider: "source" | "target"): WeightAxes => {
    const narrower = wider === "source" ? "target" : "source";
    const axis = (count: number, byWide: number, byNarrow: number, weight: number) =>
      ({ count, [wider]: byWide, [narrower]: byNarrow, weight }) as unknown as WeightAxes["axes"][number];
    return {
      first: 0,
      axes: [
        axis(groups, maps * wide, numNarrow * narrow, numNarrow * maps * 3),
        axis(numNarrow, 0, narrow, maps * 3),
        axis(maps, wide, 0, 3),
        { ...axis(narrow, 1, 1, 1), slide: slide(wider) },
      ].filter(({ count, slide }) => count > 1 || slide !== undefined),
    };
  };
  const count = out * maps * 3;
  const net = weighted({ from: [4, wide], to: [out, narrow], axes: axesFrom("source"), count });
  for (const found of await bothWays(net, 4 * wide, out * narrow)) expectClose(found, jacobian(net.weight));
  const back = weighted({ from: [out, narrow], to: [4, wide], axes: axesFrom("target"), count });
  const turned = Array.from({ length: 4 * wide }, (_, column) => jacobian(back.weight).map((row) => row[column]!));
  for (const found of await bothWays(back, out * narrow, 4 * wide)) expectClose(found, turned);
});

test("an embedding sends the row of the token that is there", async () => {
  const page = source({
    layers: [layer("in", [2]), layer("out", [2, 3])],
    connections: [connection({ form: "embedding" })],
    axes: [
      {
        first: 0,
        axes: [
          { count: 2, source: 1, target: 3, weight: 3, is_token: true },
          { count: 3, source: 0, target: 1, weight: 1 },
        ],
      },
    ],
    weights: ["w"],
    weight_frames: [{ step: 5, variable: "Wt", item: 0, pieces: [0] }],
    frames: [frame(5, 1, null)],
    pieces: [exact([1, 2, 3, 4, 5, 6, 7, 8, 9]), exact([2, 0])],
  });
  expectClose(await (async () => [await weightsOf(page, "in", 0), await weightsOf(page, "out", 4)])(), [
    [7, 8, 9, null, null, null],
    [null, 2],
  ]);
});

test("attention connects a feature with the same one of all tokens, also beside queries and keys", async () => {
  // Two heads of two features; the values are the last four of twelve features of a token.
  const attention = [1, 2, 3, 4, 5, 6, 7, 8];
  const page = source({
    layers: [layer("in", [2, 12]), layer("out", [2, 4]), layer("attn", [2, 2, 2])],
    connections: [connection({ form: "attention", weight: "attn.Act" })],
    axes: [
      {
        first: 8,
        axes: [
          { count: 2, source: 2, target: 2, weight: 4 },
          { count: 2, source: 0, target: 4, weight: 2 },
          { count: 2, source: 12, target: 0, weight: 1 },
          { count: 2, source: 1, target: 1, weight: 0 },
        ],
      },
    ],
    frames: [frame(5, null, null, 0)],
    pieces: [exact(attention)],
  });
  const expected = Array.from({ length: 24 }, (): number | null => null);
  const [head, query, feature] = [1, 0, 1];
  for (const key of [0, 1]) expected[key * 12 + 8 + head * 2 + feature] = attention[(head * 2 + query) * 2 + key]!;
  expectClose([await weightsOf(page, "out", 3)], [expected]);
  expectClose([await weightsOf(page, "in", 0)], [Array.from({ length: 8 }, () => null)]);
});

test("weights that were left out, or do not fit, say why", async () => {
  const { page } = weighted({ from: [2], to: [2], axes: null, count: 9 });
  const asked = { type: "net_weights", ...WHERE, layer: "out", unit: 0, item: 0, direction: "received" } as const;
  const why = async (variable: string, step: number): Promise<string | undefined> =>
    blocks(await page.ask({ ...asked, variable, step })).get("in")?.why;
  expect(await why("Wt", 5)).toContain("do not fit");
  expect(await why("Wt", 0)).toContain("Not in this file");
  expect(await why("Grad", 5)).toContain("Not in this file");
});

test("an analysis is refused with the way to it", async () => {
  await expect(source({}).ask({ type: "net_items", ...WHERE } as unknown as Asked)).rejects.toThrow("view.show()");
});

// --- what is followed ----------------------------------------------------------------------------

test("the one run, its network and its moments are told once", async () => {
  const page = source({});
  const heard: string[] = [];
  const listener = {
    hear: ({ answer }: Reply) => void heard.push(answer.type),
    refuse: (reason: string) => void heard.push(reason),
  };
  page.follow({ type: "runs" }, listener);
  page.follow({ type: "net_scene", ...WHERE }, listener);
  page.follow({ type: "net_moments", ...WHERE }, listener);
  page.follow({ type: "net_moments", ...WHERE }, listener)();
  page.follow({ type: "series", run_ids: [], names: [] } as unknown as Asked, listener);
  await Promise.resolve();
  expect(heard).toEqual(["runs", "net_scene", "net_moments", "This file has no answer to series."]);
});
