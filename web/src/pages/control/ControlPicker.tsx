/** In the top bar: which training is shown, with its seed, and a list to choose another from where there are several. */
import { control, controlId, controls } from "../../data/control";
import { setParams } from "../../data/route";
import { type Option, Picker } from "../../ui/Picker";
import type { ControlListing } from "../../wire";
import { shownControl } from "./words";

export function ControlPicker() {
  const all = controls.value ?? [];
  const now = all.find(({ id }) => id === controlId.value);
  if (all.length === 0) return null;
  if (all.length === 1 && now !== undefined) {
    return (
      <span class="subject" title={now.target}>
        <Said name={now.name} />
      </span>
    );
  }
  return (
    <Picker
      label="Trainings"
      options={() => all.map(optionOf)}
      chosen={controlId.value}
      choose={(id) => setParams({ c: id })}
    >
      <Said name={now?.name ?? "Choose a training"} />
    </Picker>
  );
}

function Said({ name }: { name: string }) {
  const now = control.value;
  return (
    <>
      <span class="clip">{name}</span>
      {now !== null && now.listing.id === controlId.value && <span class="muted">seed {now.seed}</span>}
    </>
  );
}

function optionOf(one: ControlListing): Option {
  return { id: one.id, name: one.name, detail: shownControl(one).word, title: one.target };
}
