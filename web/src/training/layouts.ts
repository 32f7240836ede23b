/** The groups of charts that the chosen runs themselves ask for. */
import { computed, effect, signal } from "@preact/signals";
import * as runs from "../runs/store";
import * as store from "../store";
import type { ShownLayoutGroup } from "../wire";

/** By run and name of the layout. */
const known = signal<ReadonlyMap<string, readonly ShownLayoutGroup[]>>(new Map());

interface Wanted {
  readonly runId: string;
  readonly name: string;
  readonly count: number;
}

/** Changes only when a layout comes or changes. */
const wanted = computed(() => {
  const found: Wanted[] = [];
  for (const { id } of runs.chosen.value) {
    for (const { kind, name, count } of runs.index.value.get(id)?.values() ?? []) {
      if (kind === "layout") found.push({ runId: id, name, count });
    }
  }
  return JSON.stringify(found);
});

export const layouts = computed<readonly ShownLayoutGroup[]>(() =>
  (JSON.parse(wanted.value) as Wanted[]).flatMap((one) => known.value.get(keyOf(one)) ?? []),
);

function keyOf({ runId, name, count }: Wanted): string {
  return JSON.stringify([runId, name, count]);
}

/** Ask for the layouts of the chosen runs as they come; call what it returns to stop. */
export function followLayouts(): () => void {
  const asked = new Set<string>();
  return effect(() => {
    const source = store.source.value;
    if (source === null) return;
    for (const one of JSON.parse(wanted.value) as Wanted[]) {
      const key = keyOf(one);
      if (asked.has(key)) continue;
      asked.add(key);
      source.ask({ type: "layout", run_id: one.runId, name: one.name }).then(
        ({ answer }) => {
          if (answer.type === "layout") known.value = new Map(known.peek()).set(key, answer.groups);
        },
        () => asked.delete(key), // the charts by prefix are there all the same
      );
    }
  });
}
