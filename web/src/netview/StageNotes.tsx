/** What a reader must know of what is drawn, and why something is not. */
import { formatNumberOf } from "../format";
import { Icon } from "../shell/Icon";
import { moments } from "./moments";
import * as state from "./netstate";
import * as store from "./store";
import { weightVariable } from "./wording";

export function StageNotes() {
  const lines = notes();
  return (
    <div class="stage-notes" role="status">
      {lines.map(({ text, isWarning }) => (
        <p key={text} class={isWarning ? "stage-note warn" : "stage-note"}>
          {isWarning && <Icon name="warning" />}
          {text}
        </p>
      ))}
    </div>
  );
}

interface Note {
  readonly text: string;
  readonly isWarning: boolean;
}

function notes(): Note[] {
  const say = (text: string, isWarning = false): Note[] => (text === "" ? [] : [{ text, isWarning }]);
  if (moments.value.length === 0) {
    return [...say("Waiting for the first record: layers are drawn grey until values arrive."), ...say(state.valueFailure.value, true)];
  }
  return [
    ...say(state.valueFailure.value, true),
    ...missing(),
    ...say(unselected()),
    ...say(raster()),
    ...say(state.known.value?.note ?? ""),
  ];
}

/** Layers that have nothing of this variable are hatched. Those that never have it, as an input has no Net, are no surprise. */
function missing(): Note[] {
  if (state.shownStep.value === null) return [];
  const shown = store.shownLayers.value;
  const found = shown.filter(({ name }) => state.markOf(name)?.kind === "missing");
  if (found.length === 0) return [];
  const isAll = found.length === shown.length;
  const which = found.length === 1 ? found[0]!.name : isAll ? "any layer" : formatNumberOf(found.length, "layer");
  const name = store.variable.value;
  const isWarning = found.some(({ variables }) => variables.includes(name));
  const reasons = new Set(found.map((layer) => store.values.value.get(layer.name)?.why ?? ""));
  const [reason = ""] = reasons;
  // Where all are missing for one reason that says more than that, it is said.
  if (reasons.size === 1 && /file|damaged/.test(reason)) return [{ text: reason, isWarning }];
  return [{ text: `${name} was not recorded for ${which}: hatched.${isAll ? "" : " Other layers are shown."}`, isWarning }];
}

function unselected(): string {
  if (weightVariable(store.variable.value) === null || state.chosenUnit.value !== null) return "";
  return "Click a unit to see its weights.";
}

function raster(): string {
  const count = state.notInRaster.value;
  return count === 0 ? "" : `${formatNumberOf(count, "layer")} too large to be shown over time.`;
}
