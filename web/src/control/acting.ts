/** What somebody does with the training: the ways by which all parts of the page do it. */
import { signal } from "@preact/signals";
import { setPanel } from "../shell/panels";
import { initValues, liveValues, rows, shownSeed } from "./drafts";
import { complaint, send } from "./sending";
import { stepCount, stepLevel } from "./stepping";
import { control } from "./store";
import type { Value } from "./values";

/** Rises when what cannot be as it is written is to be shown. */
export const problemAsked = signal(0);

/** Begin anew, with what stands in the form. Nothing happens where something in it cannot be: it says so itself. */
export function init(): void {
  const [values, seed] = [initValues(), shownSeed.peek()];
  if (values !== null && seed !== null) {
    send("init", { type: "init", values, seed });
    return;
  }
  complaint.value = `Init waits for ${values === null ? "the parameters that are" : "the seed that is"} marked in red.`;
  if (values === null) setPanel("left", true);
  problemAsked.value += 1;
}

export function run(): void {
  send("run", { type: "run" });
}

export function step(): void {
  const count = stepCount.peek();
  if (count !== null) send("step", { type: "step", level: stepLevel.peek(), count });
}

/** Stop after this trial; a second time, and while it is not training yet: end the process. */
export function stop(): void {
  const state = control.peek()?.listing.state;
  const isUrgent = state === "stopping" || state === "starting";
  send("stop", { type: isUrgent ? "abort" : "stop" });
}

export function testItem(item: number): void {
  send("test", { type: "test_item", item });
}

export function testAll(): void {
  send("test", { type: "test_all" });
}

/** All live parameters that were changed, or one of them. */
export function apply(name?: string): void {
  const values = name === undefined ? liveValues() : oneLive(name);
  if (Object.keys(values).length > 0) send("set", { type: "set_live", values });
}

function oneLive(name: string): Record<string, Value> {
  const row = rows.peek().find(({ field }) => field.name === name);
  if (row?.field.is_live !== true || !row.isChanged || !("value" in row.reading)) return {};
  return { [name]: row.reading.value };
}
