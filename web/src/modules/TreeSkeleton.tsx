/** The place of the tree while a pass is being read. */
import * as store from "../store";

const WIDTHS = [84, 112, 96, 132, 72, 104, 88, 120];

export function TreeSkeleton() {
  const isBusy = ["loading", "waiting"].includes(store.opening.value.state);
  if (!isBusy) return <div class="panel-body" />;
  return (
    <div class="panel-body skeletons" aria-busy="true" aria-label="Loading modules">
      {WIDTHS.map((width, at) => (
        <i key={at} class="skeleton" style={{ width: `${width}px` }} />
      ))}
    </div>
  );
}
