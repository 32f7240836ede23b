/** What can be done with a training now and, of what cannot, why. */
import type { ControlState } from "../wire";

export type Act = "init" | "run" | "step" | "stop" | "test" | "set";

/** What it hangs on. */
export interface Circumstances {
  readonly isConnected: boolean;
  /** Null before anything is known. */
  readonly state: ControlState | null;
  /** What is under way: Run, Step 3 epochs. */
  readonly doing: string;
  readonly hasTest: boolean;
}

const ACTS: Record<ControlState, readonly Act[]> = {
  starting: ["stop"],
  new: ["init"],
  ready: ["init", "run", "step", "test", "set"],
  busy: ["stop", "set"],
  stopping: ["stop", "set"],
  done: ["init", "test", "set"],
  failed: ["init"],
  died: ["init"],
};

/** Why something cannot be done now; empty where it can. */
export function whyNot(act: Act, { isConnected, state, doing, hasTest }: Circumstances): string {
  if (!isConnected) return "The connection to the server is lost.";
  if (state === null) return "The server has not said yet how the training is.";
  if (!ACTS[state].includes(act)) return act === "stop" ? "Nothing is under way." : reasonIn(state, doing);
  return act === "test" && !hasTest ? "The training has no test set." : "";
}

function reasonIn(state: ControlState, doing: string): string {
  switch (state) {
    case "starting":
      return "The training is starting.";
    case "new":
      return "Nothing is initialised yet: Init first.";
    case "busy":
      return `${doing || "Something"} is under way: Stop first.`;
    case "stopping":
      return "It stops after this trial.";
    case "done":
      return "All runs are done: Init begins anew.";
    case "failed":
    case "died":
      return "The training has ended: Init begins anew.";
    case "ready":
      return "";
  }
}
