/** Which charts stand in the table of values at the cursor. */
import { isOfWatcher } from "../runs/watchernames";
import type { Chart, Group } from "./grouping";

const MAX_COLUMNS = 3;

/**
 * The first chart of the page, those of the same name in other groups, then others in their order: the same ones
 * wherever somebody has scrolled to, and none of what a watcher says of itself. A chart under the cursor that is not among them takes the last place.
 */
export function columnsFor(groups: readonly Group[], cursorChart: string): Chart[] {
  // A chart of several lines has no single value for a run.
  const usable = groups
    .flatMap(({ charts }) => charts)
    .filter((chart) => chart.members.length === 1 || chart.form === "margin");
  const likely = usable.filter(({ key }) => !isOfWatcher(key));
  const first = likely.find((chart) => !chart.isAsked) ?? likely[0];
  const rank = (chart: Chart): number =>
    chart === first ? 0 : chart.isAsked ? 3 : chart.title === first?.title ? 1 : 2;
  const chosen = [...likely].sort((a, b) => rank(a) - rank(b)).slice(0, MAX_COLUMNS);
  const pointed = usable.find(({ key }) => key === cursorChart);
  if (pointed === undefined || chosen.includes(pointed)) return chosen;
  return [...chosen.slice(0, MAX_COLUMNS - 1), pointed];
}
