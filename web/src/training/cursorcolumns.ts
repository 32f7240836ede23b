/** Which charts stand in the table of values at the cursor. */
import type { Chart, Group } from "./grouping";

export interface CursorColumn {
  readonly chart: Chart;
  readonly title: string;
}

const MAX_COLUMNS = 3;

/** The chart under the cursor, those of the same name in other groups, then others in the order of the page. */
export function columnsFor(
  groups: readonly Group[],
  isShown: (key: string) => boolean,
  cursorChart: string,
): CursorColumn[] {
  const all = groups.flatMap((group) => group.charts.map((chart) => ({ chart, group: group.title })));
  // A chart of several lines has no single value for a run.
  const usable = all.filter(({ chart }) => isShown(chart.key) && (chart.members.length === 1 || chart.form === "margin"));
  const first = usable.find(({ chart }) => chart.key === cursorChart) ?? usable.find(({ chart }) => !chart.isAsked) ?? usable[0];
  if (first === undefined) return [];
  const rank = (one: (typeof usable)[number]): number =>
    one === first ? 0 : one.chart.isAsked ? 3 : one.chart.title === first.chart.title ? 1 : 2;
  const chosen = [...usable].sort((a, b) => rank(a) - rank(b)).slice(0, MAX_COLUMNS);
  return chosen.map(({ chart, group }) => {
    const isAmbiguous = chosen.some((other) => other.chart !== chart && other.chart.title === chart.title);
    return { chart, title: isAmbiguous ? group : chart.title };
  });
}
