/** The passes as people look for them: those of one run and model together, newest first; saved files each alone. */
import type { PassListing, RunListing } from "../wire";
import { groupBy } from "./collections";

export interface PassGroup {
  /** Of the run; empty for a pass that was saved by itself. */
  readonly runId: string;
  readonly runName: string;
  readonly name: string;
  /** In the order of their steps. */
  readonly passes: readonly PassListing[];
}

export function groupPasses(
  passes: readonly PassListing[],
  runs: ReadonlyMap<string, RunListing>,
): readonly PassGroup[] {
  const groups = groupBy(passes, ({ id, run_id, name }) => (run_id === "" ? `pass ${id}` : `run ${run_id} ${name}`));
  return [...groups.values()].map((group) => {
    const { run_id: runId, name } = group[0]!;
    const inOrder = [...group].sort((a, b) => (a.step ?? 0) - (b.step ?? 0));
    return { runId, runName: runs.get(runId)?.name ?? runId, name, passes: inOrder };
  });
}
