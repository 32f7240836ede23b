import { describe, expect, it } from "vitest";
import type { Asked, Listener } from "../../../src/data/source";
import { Feed, type Query } from "../../../src/plot/scalars/series-feed";
import { block, points, reply } from "./samples";

const QUERY: Query = { axis: "step", low: null, high: null, num_buckets: 512 };

interface Question {
  readonly asked: Extract<Asked, { type: "series" }>;
  readonly listener: Listener;
  isStopped: boolean;
}

/** A source that remembers what it was asked, and a clock that is wound by hand. */
function desk() {
  const questions: Question[] = [];
  const waiting: (() => void)[] = [];
  const source = {
    follow(asked: Asked, listener: Listener): () => void {
      if (asked.type !== "series") throw new Error(asked.type);
      const question = { asked, listener, isStopped: false };
      questions.push(question);
      return () => (question.isStopped = true);
    },
  };
  const feed = new Feed(source, QUERY, (run) => waiting.push(run));
  const wait = (): void => waiting.splice(0).forEach((run) => run());
  const names = (question: Question): string[] => question.asked.wanted.map(({ name }) => name);
  return { feed, questions, wait, names };
}

const want = (...names: string[]) => names.map((name) => ({ run_id: "a", name }));
const nothing = (): void => undefined;

describe("a feed", () => {
  it("asks for what is wanted at one time with one question", () => {
    const { feed, questions, wait, names } = desk();
    feed.use(want("x", "y"), nothing);
    feed.use(want("y", "z"), nothing);
    wait();
    expect(questions.map(names)).toEqual([["x", "y", "z"]]);
    expect(questions[0]!.asked).toMatchObject(QUERY);
  });

  it("asks only for what is not followed yet", () => {
    const { feed, questions, wait, names } = desk();
    feed.use(want("x"), nothing);
    wait();
    feed.use(want("x", "y"), nothing);
    wait();
    expect(questions.map(names)).toEqual([["x"], ["y"]]);
  });

  it("names no more series in a question than are allowed", () => {
    const { feed, questions, wait, names } = desk();
    feed.use(want(...Array.from({ length: 1100 }, (_, at) => `s${at}`)), nothing);
    wait();
    expect(questions.map((question) => names(question).length)).toEqual([512, 512, 76]);
  });

  it("stops a question when nobody looks at any of its series", () => {
    const { feed, questions, wait } = desk();
    const stopFirst = feed.use(want("x"), nothing);
    const stopSecond = feed.use(want("x", "y"), nothing);
    wait();
    stopSecond();
    expect(questions[0]!.isStopped).toBe(false);
    stopFirst();
    expect(questions[0]!.isStopped).toBe(true);
  });

  it("keeps what is known for when it is looked at again, and then asks anew", () => {
    const { feed, questions, wait } = desk();
    const stop = feed.use(want("x"), nothing);
    wait();
    questions[0]!.listener.hear(reply([[block({ name: "x", num_items: 1, num_points: 1 }), points([0], [5])]]));
    stop();
    expect(feed.known("a", "x")?.data.size).toBe(1);
    feed.use(want("x"), nothing);
    wait();
    expect(questions).toHaveLength(2);
  });

  it("tells each who looks once for an answer", () => {
    const { feed, questions, wait } = desk();
    const told = [0, 0];
    feed.use(want("x", "y"), () => (told[0]! += 1));
    feed.use(want("z"), () => (told[1]! += 1));
    wait();
    const one = (name: string) => [block({ name, num_items: 1, num_points: 1 }), points([0], [5])] as const;
    questions[0]!.listener.hear(reply([one("x"), one("y"), one("z")]));
    expect(told).toEqual([1, 1]);
    questions[0]!.listener.hear(reply([one("y")]));
    expect(told).toEqual([2, 1]);
  });

  it("knows that a series without a block is not there", () => {
    const { feed, questions, wait } = desk();
    feed.use(want("x"), nothing);
    wait();
    expect(feed.known("a", "x")?.isAnswered).toBe(false);
    questions[0]!.listener.hear(reply([]));
    expect(feed.known("a", "x")?.isAnswered).toBe(true);
  });

  it("asks everything anew for another axis, and keeps what is known meanwhile", () => {
    const { feed, questions, wait } = desk();
    feed.use(want("x"), nothing);
    wait();
    questions[0]!.listener.hear(reply([[block({ name: "x", num_items: 1, num_points: 1 }), points([0], [5])]]));
    feed.ask({ ...QUERY, axis: "time" });
    wait();
    expect(questions.map(({ isStopped }) => isStopped)).toEqual([true, false]);
    expect(questions[1]!.asked.axis).toBe("time");
    expect(feed.known("a", "x")?.data.size).toBe(1);
    feed.ask({ ...QUERY, axis: "time" });
    wait();
    expect(questions).toHaveLength(2);
  });

  it("finds the one series that is refused, and shows the others", () => {
    const { feed, questions, wait, names } = desk();
    let told = 0;
    feed.use(want("p", "q", "bad", "r"), () => (told += 1));
    wait();
    // The list grows while it is gone through.
    for (const question of questions) {
      if (names(question).includes("bad")) question.listener.refuse("It is damaged.");
      else question.listener.hear(reply([]));
    }
    const refusals = ["p", "q", "bad", "r"].map((name) => feed.known("a", name)?.refusal);
    expect(refusals).toEqual(["", "", "It is damaged.", ""]);
    expect(told).toBeGreaterThan(0);
    wait();
    const before = questions.length;
    feed.askAgain();
    wait();
    expect(questions.slice(before).map(names)).toEqual([["bad"]]);
  });
});
