/** The state of the training as a word with its shape. */
import { isConnected, lastHeard } from "../../data/connection";
import { control } from "../../data/control";
import { Shape } from "../../ui/StateBadge";
import type { ShownState } from "../../ui/run-states";
import { formatHour } from "../../ui/times";
import type { ControlListing } from "../../wire";
import { shownControl } from "./words";

export function ControlBadge() {
  const listing = control.value?.listing;
  return listing === undefined ? null : <ListingBadge listing={listing} />;
}

export function ListingBadge({ listing }: { listing: ControlListing }) {
  const { word, shape, style } = isConnected.value ? shownControl(listing) : unseen();
  return (
    <span class={`badge control-badge ${style}`} title={listing.doing || word}>
      <Shape shape={shape} isLive={style === "live"} />
      <span class="clip">{word}</span>
    </span>
  );
}

/** What it does meanwhile, nobody knows. */
function unseen(): ShownState {
  const when = lastHeard.value === null ? "" : ` ${formatHour(lastHeard.value)}`;
  return { word: `last seen${when}`, shape: "ring", style: "warn" };
}
