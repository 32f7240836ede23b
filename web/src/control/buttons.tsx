/** A button that tells the training something. Where it may not, it says why, and keeps the focus. */
import type { ComponentChildren } from "preact";
import { Shape } from "../runs/StateBadge";
import { isConnected, lastHeard, type ShownState } from "../runs/states";
import { formatHour } from "../runs/times";
import { Icon, type IconName } from "../shell/Icon";
import type { ControlListing } from "../wire";
import { control } from "./store";
import { shownControl } from "./words";

interface Props {
  icon?: IconName;
  style?: string;
  /** Why it cannot be pressed now; empty where it can. */
  against: string;
  /** What it does, where its word is not enough. */
  hint?: string;
  /** Its name, where the word on it is not enough. */
  label?: string;
  act: (event: MouseEvent) => void;
  children: ComponentChildren;
}

export function ActButton({ icon, style = "", against, hint, label, act, children }: Props) {
  const isOff = against !== "";
  return (
    <button
      class={`btn ${style}`}
      // Not `disabled`: a button that is pressed and goes off for a moment would lose the focus.
      aria-disabled={isOff}
      aria-label={label}
      title={isOff ? against : hint}
      onClick={(event) => {
        if (!isOff) act(event);
      }}
    >
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </button>
  );
}

// --- The state of the training as a word with its shape.

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
