/** The state of a run as a word with its shape. */
import type { RunListing } from "../wire";
import { Icon } from "./Icon";
import { shownState, type ShownState } from "./run-states";

export function StateBadge({ run, word }: { run: RunListing; word?: string }) {
  const state = shownState(run);
  return (
    <span class={`badge ${state.style}`}>
      <Shape shape={state.shape} isLive={state.style === "live"} />
      {word ?? state.word}
    </span>
  );
}

export function Shape({ shape, isLive }: { shape: ShownState["shape"]; isLive: boolean }) {
  if (shape === "check") return <Icon name="check" />;
  if (shape === "cross") return <Icon name="close" />;
  return <i class={`dot${isLive ? " pulse" : ""}${shape === "ring" ? " ring" : ""}`} />;
}
