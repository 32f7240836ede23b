/** In the top bar: which set of features is shown, and a list to choose another from. */
import { sets } from "../../../data/feature-sets";
import { formatNumberOf } from "../../../data/format";
import { setParams } from "../../../data/route";
import { type Option, Picker } from "../../../ui/Picker";
import type { FeatureSetListing } from "../../../wire";
import { listing, setId } from "./store";
import { samplesText } from "./words";

/** What was seen of one set says nothing about another. */
const NO_PLACE = { layer: null, unit: null, sample: null, point: null, selection: null, run: null, embedding: null, cam: null, made: null };

export function FeaturePicker() {
  const all = sets.value ?? [];
  const now = listing.value;
  if (all.length === 0) return null;
  const said = (
    <>
      <span class="clip">{now?.name ?? "Choose a set of features"}</span>
      {now !== null && <span class="muted clip ft-model">{now.model}</span>}
    </>
  );
  if (all.length === 1 && now !== null) return <span class="subject">{said}</span>;
  return (
    <Picker
      label="Sets of features"
      options={() => all.map(optionOf)}
      chosen={setId.value}
      choose={(id) => {
        if (id !== setId.peek()) setParams({ ...NO_PLACE, set: id });
      }}
    >
      {said}
    </Picker>
  );
}

function optionOf(one: FeatureSetListing): Option {
  const detail = one.note === "" ? `${formatNumberOf(one.num_layers, "layer")}, ${samplesText(one)} samples` : "cannot be read";
  return { id: one.id, name: one.name, detail, isMuted: one.note !== "" };
}
