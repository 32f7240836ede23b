import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ByteCache, Desk, type Held, PAUSE_MS } from "../../src/data/requests";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

interface Asked {
  readonly key: string;
  readonly version: string;
  readonly resolve: (value: string) => void;
  readonly reject: (reason: Error) => void;
}

/** A desk whose questions are answered by hand. */
function deskOf(): {
  desk: Desk<string>;
  asked: Asked[];
  told: Held<string>[];
  want: (key: string, version?: string) => void;
} {
  const [asked, told]: [Asked[], Held<string>[]] = [[], []];
  const desk = new Desk<string>((held) => told.push(held));
  const want = (key: string, version = ""): void =>
    desk.want({
      key,
      version,
      ask: () => new Promise((resolve, reject) => asked.push({ key, version, resolve, reject })),
    });
  return { desk, asked, told, want };
}

const settled = async (): Promise<void> => {
  await vi.advanceTimersByTimeAsync(0);
};

test("one question is under way at a time, and the newest is next", async () => {
  const { asked, told, want } = deskOf();
  for (const key of ["a", "b", "c"]) want(key);
  expect(asked.map(({ key }) => key)).toEqual(["a"]);
  asked[0]!.resolve("A");
  await settled();
  expect(asked.map(({ key }) => key)).toEqual(["a", "c"]);
  asked[1]!.resolve("C");
  await settled();
  expect(told.map(({ value }) => value)).toEqual(["A", "C"]);
});

test("news of the same thing is asked for after a pause, once", async () => {
  const { asked, want } = deskOf();
  want("a", "1");
  asked[0]!.resolve("A");
  await settled();
  for (const version of ["2", "3", "4"]) want("a", version);
  expect(asked).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(PAUSE_MS);
  expect(asked.map(({ version }) => version)).toEqual(["1", "4"]);
});

test("without news nothing is asked again", async () => {
  const { asked, want } = deskOf();
  want("a", "1");
  asked[0]!.resolve("A");
  await vi.advanceTimersByTimeAsync(10 * PAUSE_MS);
  want("a", "1");
  await vi.advanceTimersByTimeAsync(10 * PAUSE_MS);
  expect(asked).toHaveLength(1);
});

test("a failure leaves what was there and can be tried again", async () => {
  const { desk, asked, told, want } = deskOf();
  want("a", "1");
  asked[0]!.resolve("A");
  await vi.advanceTimersByTimeAsync(PAUSE_MS);
  want("a", "2");
  asked[1]!.reject(new Error("gone"));
  await settled();
  expect(told.at(-1)).toEqual({ value: "A", key: "a", problem: "gone" });
  desk.retry();
  asked[2]!.resolve("A2");
  await settled();
  expect(told.at(-1)).toEqual({ value: "A2", key: "a", problem: "" });
});

test("what comes while nothing is wanted is there when it is wanted again", async () => {
  const { desk, asked, told, want } = deskOf();
  want("a");
  desk.want(null);
  asked[0]!.resolve("A");
  await settled();
  want("a");
  await vi.advanceTimersByTimeAsync(2 * PAUSE_MS);
  expect(asked).toHaveLength(1);
  expect(told.at(-1)).toEqual({ value: "A", key: "a", problem: "" });
});

test("a desk that is closed tells nothing", async () => {
  const { desk, asked, told, want } = deskOf();
  want("a");
  desk.close();
  asked[0]!.resolve("A");
  await settled();
  expect(told).toEqual([]);
});

test("a cache forgets what was used longest ago, and never the newest", () => {
  const cache = new ByteCache<string>(10);
  cache.set("a", "A", 4);
  cache.set("b", "B", 4);
  cache.get("a");
  cache.set("c", "C", 4);
  expect(["a", "b", "c"].map((key) => cache.get(key))).toEqual(["A", undefined, "C"]);
  cache.set("huge", "H", 100);
  expect(cache.get("huge")).toBe("H");
  expect(cache.get("a")).toBeUndefined();
});
