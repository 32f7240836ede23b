/** How the state of a training is said: in a word with a shape, and in a sentence for those who listen. */
import { formatCount } from "../../data/format";
import type { ShownState } from "../../ui/run-states";
import type { ControlListing, ControlState, Counters, Fault } from "../../wire";

type Style = Pick<ShownState, "shape" | "style">;

const STYLES: Record<ControlState, Style> = {
  starting: { shape: "ring", style: "" },
  new: { shape: "ring", style: "" },
  ready: { shape: "dot", style: "" },
  busy: { shape: "dot", style: "live" },
  stopping: { shape: "dot", style: "warn" },
  done: { shape: "check", style: "" },
  failed: { shape: "cross", style: "died" },
  died: { shape: "cross", style: "died" },
};

/** By the first word of what is under way. */
const BUSY_WORDS: Readonly<Record<string, string>> = { Run: "running", Step: "stepping", Test: "testing" };

export function shownControl({ state, doing }: Pick<ControlListing, "state" | "doing">): ShownState {
  return { word: wordOf(state, doing), ...STYLES[state] };
}

function wordOf(state: ControlState, doing: string): string {
  // Beside the counters, what was pressed would read like one of them: Run 0 / 10.
  if (state === "busy") return BUSY_WORDS[doing.split(" ")[0]!] ?? "busy";
  return state === "new" ? "not initialised" : state;
}

/** `12 / 50`, or `12` where nobody knows how many there will be. */
export function ofAll(done: number, all: number | null): string {
  return all === null ? formatCount(done) : `${formatCount(done)} / ${formatCount(all)}`;
}

/** Where a training is, in a line; empty where it has not begun. */
export function placeOf(counters: Counters): string {
  const { run, num_runs, epoch, num_epochs, trial, num_trials, step } = counters;
  if (run === 0 && step === 0) return "";
  return `run ${ofAll(run, num_runs)} · epoch ${ofAll(epoch, num_epochs)} · trial ${ofAll(trial, num_trials)}`;
}

/** What went wrong, as a title. */
export function faultTitle(state: ControlState, fault: Fault | null): string {
  if (state === "died") return "The training process has ended";
  return fault === null || fault.error === "" ? "Training stopped" : `Training stopped: ${fault.error}`;
}

/** Where in an output the line begins that a fault names, as in `a.py, line 40, in forward`; -1 where it has none. */
export function startOfPlace(output: string, place: string): number {
  const [, file, line] = /^(.+), line (\d+)/.exec(place) ?? [];
  if (file === undefined || line === undefined) return -1;
  const named = `${file}", line ${line}`;
  for (let at = output.indexOf(named); at >= 0; at = output.indexOf(named, at + 1)) {
    const isWhole = !isWordy(output[at - 1]) && !isWordy(output[at + named.length]);
    if (isWhole) return output.lastIndexOf("\n", at) + 1;
  }
  return -1;
}

function isWordy(character: string | undefined): boolean {
  return character !== undefined && /\w/.test(character);
}

/** What is said aloud when the state changes. */
export function sentenceOf({ state, doing }: ControlListing, fault: Fault | null): string {
  switch (state) {
    case "starting":
      return "The training is starting.";
    case "new":
      return "Not initialised. Init builds the network and the data.";
    case "ready":
      return "Ready.";
    case "busy":
      return `${doing || "Training"} is under way.`;
    case "stopping":
      return "Stopping after this trial. Stop again ends the process.";
    case "done":
      return "All runs are done.";
    case "failed":
    case "died":
      return `${faultTitle(state, fault)}${fault === null || fault.message === "" ? "" : `: ${fault.message}`}`;
  }
}
