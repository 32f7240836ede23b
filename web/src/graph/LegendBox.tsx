/** What the colours of edges mean while something is selected. */
import { formatNumberOf } from "../format";
import { highlight, scene } from "./viewstate";

export function LegendBox() {
  const lit = highlight.value;
  if (lit?.selected == null) return null;
  const hasConditions = scene.value?.hierarchy.edges.at(-1)?.kind === "condition";
  return (
    <div class="float legend graph-legend" role="group" aria-label="Selection">
      <span>
        <i class="graph-stroke selected" />
        selected tensor
      </span>
      <span>
        <i class="graph-stroke up" />
        {formatNumberOf(lit.up.size, "ancestor")}
      </span>
      <span>
        <i class="graph-stroke down" />
        {formatNumberOf(lit.down.size, "descendant")}
      </span>
      {hasConditions && (
        <span>
          <i class="graph-stroke condition" />
          decided what ran
        </span>
      )}
    </div>
  );
}
