/** A model that raised: where the pass ended, and what it said. */
import { formatCount } from "../format";
import * as store from "../store";
import type { PassDocument } from "../wire";

export function RaisedNotice({ document }: { document: PassDocument }) {
  const last = document.ops.length - 1;
  const key = store.hierarchy.value?.nodeOfOp[last];
  const number = formatCount(last + 1);
  return (
    <section class="section raised" role="alert" aria-label="How the pass ended">
      <b>{last < 0 ? "The model raised before its first op" : `The model raised after op ${number}`}</b>
      <p class="fs-2 raised-text">{document.error}</p>
      <p class="muted fs-2">Ops up to there are shown; all of them ran.</p>
      {key !== undefined && (
        <button class="btn sm" onClick={() => store.goTo(key)}>
          Go to op {number}, the last that ran
        </button>
      )}
    </section>
  );
}
