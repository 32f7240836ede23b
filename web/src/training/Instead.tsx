/** What stands over a chart while something of it is missing. */
import type { ReadonlySignal } from "@preact/signals";
import { feeds } from "./feeds";
import type { Model } from "./model";

export function Instead({ model }: { model: ReadonlySignal<Model | null> }) {
  const now = model.value;
  if (now === null || (now.x === null && now.numAwaited > 0 && now.refusal === "")) return <Skeleton />;
  if (now.refusal !== "") {
    return (
      <div class={now.x === null ? "plot-note" : "plot-note low"} role="alert">
        <span>{now.refusal}</span>
        <button class="btn sm" onClick={() => feeds.peek()?.whole.askAgain()}>
          Try again
        </button>
      </div>
    );
  }
  const note = now.note === "" && now.x === null ? "No values yet." : now.note;
  return note === "" ? null : <div class="plot-note">{note}</div>;
}

function Skeleton() {
  return (
    <div class="plot-skeleton" aria-hidden="true">
      {[0, 1, 2].map((row) => (
        <i key={row} class="skeleton" />
      ))}
    </div>
  );
}
