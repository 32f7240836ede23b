/** The passes to choose from: those of one run under its name. */
import { formatCount } from "../format";
import { groupPasses } from "../runs/passgroups";
import { runsById } from "../runs/store";
import type { PassListing } from "../source/source";
import type { Option } from "./OptionList";

export function passOptions(passes: readonly PassListing[]): Option[] {
  // Those that belong to no run first: after a heading they would seem to belong under it.
  const groups = groupPasses(passes, runsById.value);
  const inOrder = [
    ...groups.filter(({ runId }) => runId === ""),
    ...groups.filter(({ runId }) => runId !== ""),
  ];
  return inOrder.flatMap(({ runId, runName, passes: group }) => {
    const all = group.map((pass): Option => ({ id: pass.id, name: pass.name, detail: saidOf(pass) }));
    // The newest first, under the name of the run.
    return runId === ""
      ? all
      : [{ id: null, name: runName, detail: countOf(group.length) }, ...all.reverse()];
  });
}

function saidOf(pass: PassListing): string {
  return pass.run_id !== "" && pass.step !== null ? `step ${formatCount(pass.step)}` : pass.detail;
}

function countOf(count: number): string {
  return count === 1 ? "" : formatCount(count);
}
