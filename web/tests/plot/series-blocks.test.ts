import { expect, test } from "vitest";
import type { Reply } from "../../src/data/source";
import { type Points, pointsKey, withFrame } from "../../src/plot/lines";
import type { SeriesBlock } from "../../src/wire";

interface Part {
  readonly block: Partial<SeriesBlock>;
  readonly columns: number[][];
}

function frame(...parts: Part[]): Reply {
  const numbers = parts.flatMap(({ columns }) => columns.flat());
  const buffer = new ArrayBuffer(16 + 8 * numbers.length);
  new Float64Array(buffer, 16).set(numbers);
  const blocks = parts.map(({ block, columns }): SeriesBlock => ({
    run_id: "r",
    name: "loss",
    form: "points",
    is_fresh: true,
    num_items: columns[0]!.length,
    num_points: columns[0]!.length,
    started: 0,
    ...block,
  }));
  return { answer: { type: "series", id: 1, blocks }, buffer, offset: 16 };
}

function shown(points: Points | undefined): number[][] {
  return points === undefined ? [] : [[...points.steps], [...points.values]];
}

const none: ReadonlyMap<string, Points> = new Map();
const key = pointsKey("r", "loss");

test("each block is read from its own place in the frame", () => {
  const known = withFrame(
    none,
    frame(
      {
        block: {},
        columns: [
          [0, 1],
          [10, 11],
          [0.5, 0.4],
        ],
      },
      { block: { name: "acc" }, columns: [[5], [15], [0.9]] },
    ),
  );
  expect(shown(known.get(key))).toEqual([
    [0, 1],
    [0.5, 0.4],
  ]);
  expect(shown(known.get(pointsKey("r", "acc")))).toEqual([[5], [0.9]]);
});

test("new points come after what is known, and a fresh block takes its place", () => {
  const first = withFrame(none, frame({ block: {}, columns: [[0], [0], [1]] }));
  const more = withFrame(first, frame({ block: { is_fresh: false }, columns: [[1], [1], [2]] }));
  expect(shown(more.get(key))).toEqual([
    [0, 1],
    [1, 2],
  ]);
  const anew = withFrame(more, frame({ block: {}, columns: [[9], [9], [9]] }));
  expect(shown(anew.get(key))).toEqual([[9], [9]]);
});

test("of buckets the mean is drawn, and one without a finite value is a gap", () => {
  const columns = [
    [1, 5],
    [0, 0],
    [0.25, 0],
    [0.1, 0],
    [0.4, 0],
    [3, 2],
    [1, 2],
  ];
  const known = withFrame(none, frame({ block: { form: "buckets" }, columns }));
  expect(shown(known.get(key))).toEqual([
    [1, 5],
    [0.25, NaN],
  ]);
});

test("what is known does not change when more comes: whoever draws it may keep it", () => {
  const first = withFrame(none, frame({ block: {}, columns: [[0], [0], [1]] }));
  withFrame(first, frame({ block: { is_fresh: false }, columns: [[1], [1], [2]] }));
  expect(shown(first.get(key))).toEqual([[0], [1]]);
});
