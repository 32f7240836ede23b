import { describe, expect, it } from "vitest";
import { blocksOf, SeriesData } from "../../../src/plot/scalars/series-feed";
import { append, block, bucketData, buckets, dataOf, points, reply } from "./samples";

const ALL = { axis: "step", low: null, high: null } as const;

describe("the columns of a series", () => {
  it("take points for buckets of one", () => {
    const data = dataOf([0, 1, 2], [5, NaN, -Infinity]);
    expect([...data.column("step")]).toEqual([0, 1, 2]);
    expect([...data.column("mean")]).toEqual([5, NaN, -Infinity]);
    expect([...data.column("high")]).toEqual([5, NaN, -Infinity]);
    expect([...data.column("count")]).toEqual([1, 1, 1]);
    expect([...data.column("bad")]).toEqual([0, 1, 1]);
    expect(data.hasBuckets).toBe(false);
  });

  it("grow by points after buckets", () => {
    const data = bucketData([{ step: 4.5, mean: 1, low: 0, high: 3, count: 10, bad: 2 }]);
    append(data, [10, 11], [7, 8]);
    expect([...data.column("step")]).toEqual([4.5, 10, 11]);
    expect([...data.column("low")]).toEqual([0, 7, 8]);
    expect([...data.column("bad")]).toEqual([2, 0, 0]);
    expect(data).toMatchObject({ hasBuckets: true, numPoints: 12 });
  });

  it("let the last bucket grow", () => {
    const data = bucketData([{ step: 4.5, mean: 1, low: 0, high: 3, count: 10 }, { step: 14.5, mean: 2, low: 2, high: 2, count: 10 }]);
    const more = buckets([{ step: 15, mean: 3, low: 2, high: 4, count: 11 }, { step: 22, mean: 5, low: 5, high: 5, count: 3 }]);
    data.take(block({ form: "buckets", is_fresh: false, num_replaced: 1, num_items: 2, num_points: 24 }), more, ALL);
    expect([...data.column("step")]).toEqual([4.5, 15, 22]);
    expect([...data.column("count")]).toEqual([10, 11, 3]);
    expect(data.numPoints).toBe(24);
  });

  it("keep everything however often they grow", () => {
    const data = dataOf([], []);
    for (let at = 0; at < 1000; at++) append(data, [at], [2 * at]);
    expect(data.size).toBe(1000);
    expect(data.column("mean")[777]).toBe(1554);
  });

  it("begin anew with a fresh block", () => {
    const data = bucketData([{ step: 1, mean: 1, low: 1, high: 1, count: 4 }]);
    append(data, [5], [5]);
    data.take(block({ num_items: 1, num_points: 6 }), points([9], [3]), { axis: "relative", low: 1, high: 2 });
    expect([...data.column("step")]).toEqual([9]);
    expect(data).toMatchObject({ hasBuckets: false, asked: { axis: "relative", low: 1, high: 2 } });
  });

  it("are told apart in one answer", () => {
    const first = block({ num_items: 2, num_points: 2 });
    const second = block({ name: "acc", form: "buckets", num_items: 1, num_points: 9 });
    const found = blocksOf(
      reply([
        [first, points([0, 1], [5, 6])],
        [second, buckets([{ step: 4, mean: 2, low: 1, high: 3, count: 9 }])],
      ]),
    );
    const data = new SeriesData();
    data.take(...found[1]!, ALL);
    expect([...data.column("high")]).toEqual([3]);
    expect([...found[0]![1]]).toEqual([0, 1, 1000, 1001, 5, 6]);
  });

  it("are refused where numbers are missing", () => {
    const short = reply([[block({ num_items: 1, num_points: 1 }), points([0], [5])]]);
    const longer = { ...short, answer: { ...short.answer, blocks: [block({ num_items: 3, num_points: 3 })] } };
    expect(() => blocksOf(longer as typeof short)).toThrow();
  });
});
