/** How far a reduction is, with a way to stop it, or why there is none. */
import { formatShare } from "../format";
import * as page from "../store";
import { isReduced, reduceThere } from "./reducing";
import * as store from "./store";

export function ReductionNote() {
  const now = store.reducing.value;
  if (now.state === "working") {
    // Short work would only flicker.
    return (
      <div class="float reduction late" role="status">
        <span>
          {now.what} · {formatShare(Math.max(0, now.share), 1)}
        </span>
        <div class="bar" role="progressbar" aria-label={now.what} aria-valuenow={Math.round(now.share * 100)}>
          <i style={{ width: `${Math.max(2, now.share * 100)}%` }} />
        </div>
        {now.cancel !== null && (
          <button class="btn sm" onClick={now.cancel}>
            Cancel
          </button>
        )}
      </div>
    );
  }
  if (now.state === "failed" && store.method.value !== "pca") {
    return (
      <div class="float reduction failed" role="alert">
        <span>
          <b>No {now.what}.</b> {now.reason}
        </span>
        <button class="btn sm" onClick={() => (store.reducing.value = { state: "idle" })}>
          Close
        </button>
      </div>
    );
  }
  if (store.loaded.value === null || isReduced()) return null;
  const title = store.METHODS.find(([name]) => name === store.method.value)?.[1] ?? "";
  return (
    <div class="float reduction">
      <span>PCA is shown until {title} was made.</span>
      <button
        class="btn sm primary"
        onClick={() => {
          if (page.source.value !== null) reduceThere(page.source.value);
        }}
      >
        Run {title}
      </button>
    </div>
  );
}
