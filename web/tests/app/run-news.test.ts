import { expect, test } from "vitest";
import { newsOf } from "../../src/app/run-news";
import type { RunListing } from "../../src/wire";
import { runWith } from "../run-listings";

const listed = (...runs: RunListing[]) => new Map(runs.map((run) => [run.id, run]));

test("runs that end are told, with the reason of those that died", () => {
  const before = listed(
    runWith({ id: "a", state: "running" }),
    runWith({ id: "b", state: "running" }),
    runWith({ id: "c", state: "running" }),
  );
  const now = listed(
    runWith({ id: "a", state: "finished" }),
    runWith({ id: "b", state: "died", reason: "killed" }),
    runWith({ id: "c", state: "running", last_step: 99 }),
  );
  expect(newsOf(before, now)).toBe("a finished; b died: killed");
});

test("the first list is no news, and neither are runs that come or go", () => {
  expect(newsOf(listed(), listed(runWith({ id: "a", state: "died" })))).toBe("");
  expect(newsOf(listed(runWith({ id: "a", state: "running" })), listed())).toBe("");
});
