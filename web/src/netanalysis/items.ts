/** The items that are analysed, with their labels: asked for whenever the choice changes. */
import { computed, effect, signal } from "@preact/signals";
import { rank, runId } from "../netview/netrun";
import { param } from "../route";
import { askOf } from "../sections/asking";
import { Desk, type Held } from "../sections/desk";
import type { NetItemChoice, NetItemsAnswer, NetLabelChoice } from "../wire";
import { choice, isAnalysis, NO_LABELS } from "./choosing";

export interface Items extends Omit<NetItemsAnswer, "type" | "id"> {
  /** With the labels that were taken: what all other questions ask with. */
  readonly choice: NetItemChoice;
  readonly runId: string;
}

const held = signal<Held<Items>>({ value: null, key: "", problem: "" });

/** The last ones that came, of the run that is shown. */
export const items = computed<Items | null>(() => (held.value.value?.runId === runId.value ? held.value.value : null));
export const problem = computed(() => held.value.problem);

/** Counters that say what an item is; of others, such as an epoch, only some ask. */
const NAMING = /^(label|labels|class|category|name|trial|item|target|condition)$/i;

/** Which labels are taken where nobody has chosen any. */
export function usualLabels(choices: readonly NetLabelChoice[], scope: NetItemChoice["scope"]): string {
  // Words before numbers.
  const written = choices.find(({ key }) => key.startsWith("text:")) ?? choices.find(({ key }) => key.startsWith("tensor:"));
  if (written !== undefined) return written.key;
  if (scope === "batch") return "";
  return choices.find(({ key, name }) => key.startsWith("counter:") && NAMING.test(name))?.key ?? "";
}

async function ask(run: string, wanted: NetItemChoice, named: string): Promise<Items> {
  const place = { run_id: run, rank: rank.peek() };
  const labels = named === NO_LABELS ? "" : named;
  const answered = await askOf({ type: "net_items", ...place, choice: { ...wanted, labels } }, "net_items");
  const usual = named === "" ? usualLabels(answered.answer.label_choices, wanted.scope) : "";
  if (usual === "") return { ...answered.answer, choice: { ...wanted, labels }, runId: run };
  const { answer } = await askOf({ type: "net_items", ...place, choice: { ...wanted, labels: usual } }, "net_items");
  return { ...answer, choice: { ...wanted, labels: usual }, runId: run };
}

/** Call what it returns to stop. */
export function followItems(): () => void {
  const desk = new Desk<Items>((next) => (held.value = next));
  const stop = effect(() => {
    const [run, wanted, named] = [runId.value, choice.value, param("labels")];
    if (!isAnalysis.value || run === "" || wanted === null) return;
    const key = JSON.stringify([run, rank.value, wanted, named]);
    desk.want({ key, version: "", ask: () => ask(run, wanted, named) });
  });
  return () => {
    stop();
    desk.close();
  };
}

export function labelOf(all: Items, place: number): string {
  const number = all.label_of[place];
  return number === undefined ? "" : (all.labels[number] ?? "");
}

/** `item 3 at step 20`, as far as that tells it from others. */
export function itemName(all: Items, place: number): string {
  const { scope } = all.choice;
  if (scope === "batch") return `item ${all.items[place] ?? place}`;
  const moment = `step ${all.steps[place] ?? 0}`;
  return scope === "moments" ? moment : `${moment}, item ${all.items[place] ?? 0}`;
}
