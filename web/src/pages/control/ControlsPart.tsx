/** On the start page: the trainings that can be controlled, and how they go. */
import { controls } from "../../data/control";
import { addressOf } from "../../data/route";
import type { ControlListing } from "../../wire";
import { ListingBadge } from "./badges";
import { placeOf } from "./words";

export function ControlsPart() {
  const all = controls.value ?? [];
  if (all.length === 0) return null;
  return (
    <section class="section passes" aria-label="Trainings to control">
      <div class="row">
        <h2>Control</h2>
        <span class="muted fs-1">trainings that can be stepped and run from here</span>
      </div>
      <ul>
        {all.map((one) => (
          <li key={one.id}>
            <ControlItem listing={one} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function ControlItem({ listing }: { listing: ControlListing }) {
  return (
    <a href={addressOf("control", { c: listing.id })}>
      <span class="grow">
        <span class="row">
          <b class="clip">{listing.name}</b>
          <ListingBadge listing={listing} />
        </span>
        <small class="clip">{listing.target}</small>
        <small class="clip">{placeOf(listing.counters) || "not begun"}</small>
      </span>
    </a>
  );
}
