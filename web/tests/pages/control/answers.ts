/** What a server says of a training, and a source that takes down what it is told. */
import type { Asked, Reply } from "../../../src/data/source";
import { Refusal } from "../../../src/data/source";
import type { Answer, ControlAnswer, ControlDoQuestion, ControlListing, FormField } from "../../../src/wire";
import { FakeRuns, replyOf } from "../../run-listings";

export function fieldWith(parts: Partial<FormField> & { name: string }): FormField {
  return {
    label: parts.name,
    section: "Training",
    form: "number",
    value: 0,
    choices: [],
    low: null,
    high: null,
    is_optional: false,
    is_live: false,
    about: "",
    requirement: "must be a number",
    ...parts,
  };
}

export const FIELDS: readonly FormField[] = [
  fieldWith({ name: "hidden", label: "Hidden", section: "Network", form: "integer", value: 35, low: 1 }),
  fieldWith({ name: "rate", label: "Learning rate", section: "Optimizer", value: 0.1, low: 0, is_live: true }),
  fieldWith({ name: "momentum", label: "Momentum", section: "Optimizer", value: 0.9, low: 0, high: 1, is_live: true }),
  fieldWith({ name: "clip", label: "Clip", section: "Optimizer", value: null, low: 0, is_optional: true, requirement: "must be 0 or more, or empty" }),
  fieldWith({ name: "every", label: "Every", section: "View", form: "choice", value: "1 trial", choices: ["1 trial", "never"], is_live: true }),
];

export function listingWith(parts: Partial<ControlListing> = {}): ControlListing {
  return {
    id: "c",
    name: "etra25",
    target: "examples/etra25.py:loop",
    state: "ready",
    doing: "",
    counters: { run: 0, num_runs: 2, epoch: 1, num_epochs: 10, trial: 3, num_trials: 25, step: 28 },
    ...parts,
  };
}

export function controlWith(parts: Partial<ControlAnswer> = {}, listing: Partial<ControlListing> = {}): ControlAnswer {
  return {
    type: "control",
    id: 1,
    listing: listingWith(listing),
    about: { name: "etra25", fields: [...FIELDS], seed: 3, plots: [], num_test_items: 25 },
    values: Object.fromEntries(FIELDS.map(({ name, value }) => [name, value])),
    seed: 3,
    run_id: "",
    run_ids: [],
    all_run_ids: [],
    note: "",
    fault: null,
    refusal: "",
    refused_field: "",
    ...parts,
  };
}

/** Answers what it is told with `Done`, or with what stands in `refusals`, and then says how the training is. */
export class FakeControl extends FakeRuns {
  readonly told: ControlDoQuestion["action"][] = [];
  readonly refusals: string[] = [];
  #last = controlWith();

  override say(answer: Answer): void {
    if (answer.type === "control") this.#last = answer;
    super.say(answer);
  }

  override ask(question?: Asked): Promise<Reply> {
    if (question?.type !== "control_do") return super.ask();
    this.told.push(question.action);
    const refusal = this.refusals.shift();
    if (refusal !== undefined) return Promise.reject(new Refusal(refusal));
    setTimeout(() => this.say({ ...this.#last }));
    return Promise.resolve(replyOf({ type: "control_done", id: 1 }));
  }
}
