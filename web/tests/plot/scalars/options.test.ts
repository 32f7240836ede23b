import { describe, expect, it } from "vitest";
import { readRoute, writeRoute } from "../../../src/data/route";
import { DEFAULT_SMOOTHING, readOptions, writeOptions, type Options } from "../../../src/plot/scalars/options";

/** Through an address and back. */
function carried(changes: Partial<Options>): Options {
  const params = new Map<string, string>();
  for (const [name, text] of Object.entries(writeOptions(changes))) if (text !== null) params.set(name, text);
  return readOptions(readRoute(writeRoute({ view: "training", params })).params);
}

describe("options in the address", () => {
  it("are all as by default where it says nothing", () => {
    expect(readOptions(new Map())).toMatchObject({
      smoothing: DEFAULT_SMOOTHING,
      axis: "step",
      isLogX: false,
      isLogY: false,
      ignoresOutliers: false,
      hasSharedCursor: true,
      filter: "",
      zoom: null,
      enlarged: "",
    });
  });

  it("come back as they were written", () => {
    const changes: Options = {
      smoothing: 0.87,
      isSmoothingChosen: true,
      axis: "relative",
      isLogX: true,
      isLogY: true,
      ignoresOutliers: true,
      hasSharedCursor: false,
      filter: "loss|a&b=c#%",
      zoom: { low: -0.5, high: 1.25e6 },
      enlarged: "train/loss, 50%: both",
      tables: new Set(["a,b", "c:d", "e%2Cf"]),
      limits: new Map([
        ["train/loss", { low: null, high: 3 }],
        ["a:b,c", { low: -1e-7, high: null }],
      ]),
    };
    expect(carried(changes)).toEqual(changes);
  });

  it("leave out what is as by default", () => {
    const written = writeOptions(readOptions(new Map()));
    expect(Object.values(written).every((text) => text === null)).toBe(true);
  });

  it("tell a smoothing that was chosen from the one that is there by default", () => {
    expect(readOptions(new Map()).isSmoothingChosen).toBe(false);
    expect(carried({ smoothing: DEFAULT_SMOOTHING })).toMatchObject({
      smoothing: DEFAULT_SMOOTHING,
      isSmoothingChosen: true,
    });
  });

  it("forget the zoom with the axis, whose unit it has", () => {
    expect(writeOptions({ axis: "time" })).toEqual({ x: "time", lo: null, hi: null });
  });

  it("take no nonsense", () => {
    const params = new Map([
      ["sm", "much"],
      ["x", "epoch"],
      ["lo", "5"],
      ["hi", "5"],
      ["y", "loss:3:1,acc:x:,ok:0:1,%E0%A4%A:1:2"],
    ]);
    const options = readOptions(params);
    expect(options).toMatchObject({ smoothing: DEFAULT_SMOOTHING, axis: "step", zoom: null });
    expect([...options.limits.keys()]).toEqual(["ok", "%E0%A4%A"]);
    expect(readOptions(new Map([["sm", "7"]])).smoothing).toBeLessThan(1);
    expect(readOptions(new Map([["sm", "-1"]])).smoothing).toBe(0);
  });

  it("have no logarithm of a time of day", () => {
    expect(readOptions(new Map([["lx", "1"], ["x", "time"]])).isLogX).toBe(false);
  });
});
