import { describe, expect, it } from "vitest";
import { chartSvg } from "../../../src/plot/scalars/downloads";
import { buildModel, type Model } from "../../../src/plot/scalars/model";
import type { SeriesData } from "../../../src/plot/scalars/series-feed";
import {
  badPlaces,
  bandColumns,
  dotPlaces,
  dotRadius,
  type Frame,
  frameOf,
  labelPlaces,
  traceBand,
  traceLine,
} from "../../../src/plot/scalars/paint";
import type { Pen } from "../../../src/plot/lines";
import { bucketData, chartOf, dataOf, INK, runOf, sourcesOf, wish } from "./samples";

const SIZE = { width: 300, height: 140 };
function modelOf(data: SeriesData, changes: Parameters<typeof wish>[0] = {}, run = runOf("a")): Model {
  return buildModel(chartOf("loss"), [run], () => sourcesOf(data), wish(changes));
}

function frame(model: Model): Frame {
  return frameOf(model, SIZE, (text) => 6 * text.length)!;
}

/** What was drawn: `M` and `L` with places, one text for each piece. */
function pieces(draw: (pen: Pen) => void): string[] {
  const all: string[] = [];
  draw({
    moveTo: (x, y) => all.push(`M${Math.round(x)},${Math.round(y)}`),
    lineTo: (x, y) => all.push(`${all.pop()!} L${Math.round(x)},${Math.round(y)}`),
    closePath: () => all.push(`${all.pop()!} Z`),
  });
  return all;
}

function drawnLine(model: Model): string[] {
  const { curve, smoothed } = model.lines[0]!;
  return pieces((pen) => traceLine(frame(model), curve, smoothed, pen));
}

describe("a line", () => {
  it("goes through all places, from the lower left to the upper right where it rises", () => {
    const model = modelOf(dataOf([0, 50, 100], [0, 5, 10]));
    const { left, top, width, height } = frame(model).box;
    const at = (x: number, y: number): string => `${Math.round(left + x * width)},${Math.round(top + y * height)}`;
    expect(drawnLine(model)).toEqual([`M${at(0, 1)} L${at(0.5, 0.5)} L${at(1, 0)}`]);
  });

  it("has a gap where a value is not finite, and a dot where one stands alone", () => {
    const drawn = drawnLine(modelOf(dataOf([0, 1, 2, 3, 4, 5, 6], [1, 2, NaN, 3, Infinity, 4, 5])));
    expect(drawn).toHaveLength(3);
    expect(drawn.map((piece) => piece.split("L").length - 1)).toEqual([1, 1, 1]);
  });

  it("has dots where values stand alone, whole ones also at the edge", () => {
    const where = (model: Model) => dotPlaces(frame(model), model.lines[0]!);
    const single = modelOf(dataOf([0], [0.7]));
    const { left, width } = frame(single).box;
    expect(where(single).map(([x]) => x)).toEqual([left + width / 2]);
    const broken = modelOf(dataOf([0, 1, 2, 3, 4, 5, 6], [5, NaN, 1, 2, NaN, 3, NaN]));
    expect(where(broken)).toHaveLength(2);
    expect(where(broken)[0]![0]).toBe(frame(broken).box.left);
    expect(where(modelOf(dataOf([0, 1, 2], [1, 2, 3])))).toEqual([]);
    expect(dotRadius(1, frame(single))).toBe(3);
    expect(dotRadius(1000, frame(single))).toBeLessThan(3);
    const picture = new DOMParser().parseFromString(chartSvg(single, SIZE, INK), "image/svg+xml");
    expect(picture.querySelectorAll("circle")).toHaveLength(1);
  });

  it("has a gap below nought on a logarithmic axis", () => {
    expect(drawnLine(modelOf(dataOf([0, 1, 2, 3], [1, 10, -1, 5]), { isLogY: true }))).toHaveLength(2);
  });

  it("runs on to the items beyond the edges, and no further", () => {
    const steps = Array.from({ length: 100 }, (_, at) => at);
    const model = modelOf(dataOf(steps, steps), { zoom: { low: 40.5, high: 43.5 } });
    expect(drawnLine(model)[0]!.split("L")).toHaveLength(5); // 40 to 44
  });

  it("has a band from the lowest to the highest of its buckets", () => {
    const data = bucketData([
      { step: 0, mean: 5, low: 0, high: 10, count: 4 },
      { step: 10, mean: 5, low: 0, high: 10, count: 4 },
      { step: 20, mean: NaN, low: NaN, high: NaN, count: 4, bad: 4 },
      { step: 30, mean: 5, low: 2, high: 8, count: 4 },
      { step: 40, mean: 5, low: 2, high: 8, count: 4 },
    ]);
    const model = modelOf(data);
    const drawn = pieces((pen) => traceBand(frame(model), model.lines[0]!.curve, pen));
    expect(drawn).toHaveLength(2);
    expect(drawn[0]).toMatch(/^M\S+ L\S+ L\S+ L\S+ Z$/);
  });

  it("has a band of columns without holes where buckets are narrower than pixels", () => {
    const all = Array.from({ length: 2000 }, (_, step) => {
      const isBad = step >= 1000 && step < 1200;
      const low = isBad ? NaN : step % 7;
      return { step, mean: low, low, high: isBad ? NaN : 10, count: 4, bad: isBad ? 4 : 0 };
    });
    const model = modelOf(bucketData(all));
    const where = frame(model);
    const columns = bandColumns(where, model.lines[0]!.curve);
    expect(columns.length).toBeLessThanOrEqual(where.box.width + 1);
    const holes = columns.slice(1).filter(({ x }, at) => x !== columns[at]!.x + columns[at]!.width);
    expect(holes).toHaveLength(1); // where nothing is finite
    const bottom = Math.max(...columns.map((column) => column.bottom));
    expect(bottom).toBeCloseTo(where.box.top + where.box.height, 5);
  });

  it("marks values that are not finite, a few pixels apart", () => {
    const steps = Array.from({ length: 1000 }, (_, at) => at);
    const model = modelOf(dataOf(steps, steps.map((step) => (step >= 500 ? NaN : 1))));
    const places = badPlaces(frame(model), model.lines[0]!.curve, 5);
    expect(places.length).toBeGreaterThan(10);
    places.slice(1).forEach((place, at) => expect(place - places[at]!).toBeGreaterThanOrEqual(5));
  });
});

describe("names at the ends of lines", () => {
  it("do not cover each other and stay inside", () => {
    const chart = chartOf("one", "two", "three");
    const model = buildModel(chart, [runOf("a")], () => sourcesOf(dataOf([0, 1], [5, 5])), wish());
    const where = frame(model);
    const places = labelPlaces(model, where);
    expect(places.map(({ text }) => text).sort()).toEqual(["one", "three", "two"]);
    const rows = places.map(({ y }) => y);
    rows.slice(1).forEach((y, at) => expect(y - rows[at]!).toBeGreaterThanOrEqual(12));
    for (const y of rows) expect(y).toBeLessThanOrEqual(where.box.top + where.box.height);
  });

  it("are not there for a chart of one line a run", () => {
    const model = modelOf(dataOf([0, 1], [5, 5]));
    expect(labelPlaces(model, frame(model))).toEqual([]);
  });
});

describe("a chart as SVG", () => {
  const hostile = runOf("a", { name: `<script>&"'\u0000]]>`, slot: 3, end: "died" });
  const svg = chartSvg(modelOf(dataOf([0, 1, 2], [1, NaN, 2]), { smoothing: 0.5, isSmoothingChosen: true }, hostile), SIZE, INK);

  it("is well formed whatever a run is called", () => {
    const parsed = new DOMParser().parseFromString(svg, "image/svg+xml");
    expect(parsed.querySelector("parsererror")).toBeNull();
    expect(parsed.querySelector("script")).toBeNull();
    expect(svg).toContain("&lt;script&gt;&amp;&quot;'\ufffd]]&gt;");
  });

  it("has title, legend, axes, the line and what is behind it", () => {
    expect(svg).toContain("<title>loss</title>");
    expect(svg).toMatch(/<text[^>]*>1<\/text>/);
    expect(svg.match(/stroke="#333"/g)!.length).toBeGreaterThanOrEqual(4); // raw, smoothed, cross, legend
    expect(svg).toContain('fill="#c00"'); // the mark of the NaN
    expect(svg).not.toMatch(/NaN|undefined|Infinity/);
  });

  it("says so where there is nothing", () => {
    expect(chartSvg(modelOf(dataOf([0], [NaN])), SIZE, INK)).toContain("All values are NaN");
  });
});
