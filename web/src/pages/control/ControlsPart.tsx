/** On the start page: the trainings that can be controlled, and how they go. */
import { controls } from "../../data/control";
import { addressOf } from "../../data/route";
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
            <a href={addressOf("control", { c: one.id })}>
              <span class="grow">
                <span class="row">
                  <b class="clip">{one.name}</b>
                  <ListingBadge listing={one} />
                </span>
                <small class="clip">{one.target}</small>
                <small class="clip">{placeOf(one.counters) || "not begun"}</small>
              </span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}
