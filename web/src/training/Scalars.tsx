/** All groups of charts, or what stands there while there are none. */
import * as runs from "../runs/store";
import { Blank } from "../shell/Blank";
import { ChartGroup } from "./ChartGroup";
import { isWatcherGroup } from "./grouping";
import { options, setOptions } from "./options";
import { groups, shownGroups } from "./state";

export function Scalars() {
  const shown = shownGroups.value;
  if (shown.length > 0)
    return shown.filter((group) => !isWatcherGroup(group)).map((group) => <ChartGroup key={group.key} group={group} />);
  if (groups.value.length > 0) {
    return (
      <Blank icon="search" title="No chart has such a name">
        <span>The filter is “{options.value.filter}”.</span>
        <button class="btn" onClick={() => setOptions({ filter: "" })}>
          Show all charts
        </button>
      </Blank>
    );
  }
  const known = runs.chosen.value.filter(({ id }) => runs.index.value.has(id));
  if (known.length < runs.chosen.value.length) return <Waiting />;
  // Runs without scalars may have pictures and texts: those follow below.
  if (known.some(({ id }) => (runs.index.value.get(id)?.size ?? 0) > 0)) return null;
  return (
    <Blank icon="details" title="No scalars yet">
      <span>They show up here by themselves as soon as they are logged.</span>
      <pre class="snippet">run.log(step, loss=loss)</pre>
    </Blank>
  );
}

/** What a watcher says of itself: below all that the training itself logs. */
export function WatcherScalars() {
  return shownGroups.value.filter(isWatcherGroup).map((group) => <ChartGroup key={group.key} group={group} />);
}

function Waiting() {
  return (
    <div class="scalars" aria-busy="true" aria-label="Loading charts">
      {[0, 1, 2, 3].map((at) => (
        <div key={at} class="scalar">
          <div class="plot-skeleton">
            {[0, 1, 2].map((row) => (
              <i key={row} class="skeleton" />
            ))}
          </div>
        </div>
      ))}
    </div>
  );
}
