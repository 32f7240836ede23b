/** Which tables there are, and over which runs each of them goes. */
import { computed, useSignal, type ReadonlySignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import * as store from "../../store";
import { control } from "../store";
import { MOST_RUNS, type TableWish } from "./tablefeed";

export const TRAIN_EPOCHS = "train epochs";
export const TEST_TRIALS = "test trials";
export const TEST_EPOCHS = "test epochs";
export const TEST_ITEMS = "test items";
export const RUNS = "runs";

const USUAL = [TRAIN_EPOCHS, TEST_TRIALS, TEST_EPOCHS, RUNS];

const NONE: readonly string[] = [];
const runId = computed(() => control.value?.run_id ?? "");
const runIds = computed(() => control.value?.run_ids ?? NONE);
const allRunIds = computed(() => control.value?.all_run_ids ?? NONE);

/** The run that is written now. */
export const currentRun = runId;

/**
 * Epochs are those of all runs since Init, and runs those of every Init. Of a test its rows are what the last one of
 * a run brought: that of the run before stays until the next has been tested.
 */
export function wishFor(name: string): TableWish {
  if (name === TEST_TRIALS) return { name, runIds: runIds.value.slice(-2), isOnlyLast: true };
  const ids = name === RUNS ? allRunIds.value : runIds.value;
  return { name, runIds: ids.slice(-MOST_RUNS), isOnlyLast: false };
}

/** `train epochs` → `Train epochs`. */
export function tableTitle(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** What else somebody has logged into tables of the run. */
export function useOtherTables(): ReadonlySignal<readonly string[]> {
  const names = useSignal<readonly string[]>(NONE);
  const [source, id] = [store.source.value, runId.value];
  useEffect(() => {
    if (source === null || id === "") return undefined;
    return source.follow(
      { type: "index", run_ids: [id] },
      {
        hear: ({ answer }) => {
          if (answer.type !== "index") return;
          const series = answer.runs.flatMap((run) => run.series);
          const found = series.filter(({ kind, name }) => kind === "table" && !USUAL.includes(name)).map(({ name }) => name);
          const all = [...new Set([...names.peek(), ...found])];
          if (all.length > names.peek().length) names.value = all;
        },
        refuse: () => undefined, // what was known stays
      },
    );
  }, [source, id]);
  return names;
}
