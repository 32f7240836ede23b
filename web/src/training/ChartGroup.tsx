/** Charts under one heading that can be closed. */
import { formatCount } from "../format";
import { Icon } from "../shell/Icon";
import { ChartFigure } from "./ChartFigure";
import type { Group, NotSupported } from "./grouping";
import { isOpen, setGroupOpen } from "./state";

const MOST_LISTED = 5;

export function ChartGroup({ group }: { group: Group }) {
  const isShown = isOpen(group.key);
  return (
    <section class="chart-group" aria-label={group.title}>
      <div class="group-head">
        <button class="group-fold" aria-expanded={isShown} onClick={() => setGroupOpen(group.key, !isShown)}>
          <Icon name={isShown ? "down" : "right"} />
          <h2>{group.title}</h2>
          <span class="muted fs-1">{formatCount(group.charts.length)}</span>
        </button>
      </div>
      {isShown && <NotSupportedList all={group.notSupported} />}
      {isShown && (
        <div class="scalars">
          {group.charts.map((chart) => (
            <ChartFigure key={chart.key} chart={chart} />
          ))}
        </div>
      )}
    </section>
  );
}

/** What the run asks for and the page does not look for. */
function NotSupportedList({ all }: { all: readonly NotSupported[] }) {
  if (all.length === 0) return null;
  return (
    <ul class="not-supported muted fs-1" aria-label="Patterns that are not supported">
      {all.slice(0, MOST_LISTED).map(({ chart, pattern }) => (
        <li key={`${chart} ${pattern}`}>
          {chart}: the pattern <code>{pattern}</code> is not supported, so its lines are missing. Names,{" "}
          <code>.*</code> and alternatives such as <code>(train|test)</code> are.
        </li>
      ))}
      {all.length > MOST_LISTED && <li>and {formatCount(all.length - MOST_LISTED)} more</li>}
    </ul>
  );
}
