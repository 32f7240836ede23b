/** In the top bar: which run is shown, and a list to choose another from. */
import { mayShow, rank, run } from "../../data/network/moments";
import { isKnown, known } from "../../data/network/network-state";
import { setParams } from "../../data/route";
import * as runs from "../../data/runs";
import { type Option, Picker } from "../../ui/Picker";
import { Select } from "../../ui/Select";
import { shownState } from "../../ui/run-states";
import type { RunListing } from "../../wire";

/** What was seen of one network says nothing about another. */
const NO_PLACE = { rank: null, step: null, layer: null, unit: null, only: null, hide: null };

export function RunPicker() {
  const now = run.value;
  const all = runs.runs.value;
  if (all.length === 0) return null;
  return (
    <>
      <RankSelect />
      <Picker
        label="Runs"
        options={() => all.map(optionOf)}
        chosen={now?.id ?? ""}
        choose={(id) => {
          if (id !== now?.id) setParams({ ...NO_PLACE, run: id });
        }}
      >
        <span class="clip">{now?.name ?? "Choose a run"}</span>
        {now !== null && now.comment !== "" && <span class="muted clip">{now.comment}</span>}
      </Picker>
    </>
  );
}

/** Where several processes wrote the run. */
function RankSelect() {
  const ranks = isKnown.value ? (known.value?.ranks ?? []) : [];
  const now = rank.value;
  if (ranks.length <= 1 && (ranks.length === 0 || ranks.includes(now))) return null;
  const all = ranks.includes(now) ? ranks : [...ranks, now];
  return (
    <Select
      look="input net-rank"
      label="Rank"
      title="The process that wrote what is shown"
      value={String(now)}
      options={all.map((one) => [String(one), `rank ${one}`])}
      set={(chosen) => setParams({ rank: chosen === "0" ? null : chosen })}
    />
  );
}

function optionOf(one: RunListing): Option {
  const isShowable = mayShow(one.id);
  return { id: one.id, name: one.name, detail: isShowable ? shownState(one).word : "no layers", isMuted: !isShowable };
}
