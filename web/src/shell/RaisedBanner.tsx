/** Over the graph of a pass that raised: where it ended, with a way there. */
import { useState } from "preact/hooks";
import { formatCount } from "../format";
import * as store from "../store";
import type { PassDocument } from "../wire";
import { Icon } from "./Icon";

export function RaisedBanner() {
  const document = store.document.value;
  const [dismissed, setDismissed] = useState<PassDocument | null>(null);
  if (document === null || document.error === "" || dismissed === document) return null;
  const last = document.ops.length - 1;
  const key = store.hierarchy.value?.nodeOfOp[last];
  return (
    <div class="float raised-banner" role="status">
      <Icon name="warning" />
      <div class="grow">
        <b>
          {last < 0
            ? "The model raised before its first op"
            : `The model raised after op ${formatCount(last + 1)}`}
        </b>
        <span class="raised-text">{document.error}</span>
      </div>
      {key !== undefined && (
        <button class="btn sm" onClick={() => store.goTo(key)}>
          Go to op {formatCount(last + 1)}, the last that ran
        </button>
      )}
      <button class="btn quiet square" aria-label="Dismiss" onClick={() => setDismissed(document)}>
        <Icon name="close" />
      </button>
    </div>
  );
}
