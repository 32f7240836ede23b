/** Charts under one heading that can be closed. */
import { formatCount } from "../format";
import { Icon } from "../shell/Icon";
import { ChartFigure } from "./ChartFigure";
import type { Group } from "./grouping";
import { isOpen, setGroupOpen } from "./state";

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
