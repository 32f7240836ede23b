/** What a reader must know of what is drawn, and why something is not. */
import { formatNumberOf } from "../../data/format";
import { list, moments } from "../../data/network/moments";
import * as state from "../../data/network/network-state";
import * as store from "../../data/network/store";
import { NOT_IN_FILE, NOT_WEIGHTED, sentence, weightVariable } from "../../data/network/words";
import { Icon } from "../../ui/Icon";
import { filming } from "./export";

const MOST_REASONS = 2;

export function StageNotes() {
  const lines = notes().filter(([text]) => text);
  return (
    <div class="stage-notes" role="status">
      {lines.map(([text, isWarning = false]) => (
        <p key={text} class={isWarning ? "stage-note warn" : "stage-note"}>
          {isWarning && <Icon name="warning" />}
          {text}
        </p>
      ))}
    </div>
  );
}

/** Nothing to say where there is no text. */
type Note = readonly [text: string | false | undefined, isWarning?: boolean];

function notes(): Note[] {
  const failures: Note[] = [
    [state.sceneFailure.value, true],
    [state.valueFailure.value, true],
  ];
  if (moments.value.length === 0) return [[unrecorded()], ...failures];
  const [film, numTooLarge] = [filming.value, state.notInRaster.value];
  return [
    ...failures,
    [store.shownLayers.value.length === 0 && "All layers are hidden: “Show all” brings them back."],
    missing(),
    ...ofWeights(),
    [numTooLarge > 0 && `${formatNumberOf(numTooLarge, "layer")} too large to be shown over time.`],
    [film !== null && `A video is recorded: ${film.done} of ${film.of} moments.`],
    [state.known.value?.note],
  ];
}

function unrecorded(): string {
  // Until the server has said which moments there are, nobody knows that there is none.
  if (list.value === null) return "";
  return list.value.isRunning
    ? "Waiting for the first record: layers are drawn grey until values arrive."
    : "No moment was recorded: the layers have no values.";
}

/** Layers that have nothing of this variable are hatched. Those that never have it, as an input has no Net, are no surprise. */
function missing(): Note {
  const shown = store.shownLayers.value;
  const found = shown.filter(({ name }) => state.markOf(name)?.kind === "missing");
  if (found.length === 0) return [""];
  const isAll = found.length === shown.length;
  const which = found.length === 1 ? found[0]!.name : isAll ? "any layer" : formatNumberOf(found.length, "layer");
  const name = store.variable.value;
  const isWarning = found.some(({ variables }) => variables.includes(name));
  const reasons = new Set(found.map((layer) => store.values.value.get(layer.name)?.why ?? ""));
  const [reason = ""] = reasons;
  // Where all are missing for one reason that says more than that, it is said.
  if (reasons.size === 1 && !reason.includes("was not recorded")) return [sentence(reason), isWarning];
  return [`${name} was not recorded for ${which}: hatched.${isAll ? "" : " Other layers are shown."}`, isWarning];
}

/** Of weights: there is no unit, or there are none to some of its layers. */
function ofWeights(): Note[] {
  if (!state.isOfWeights.value) return [];
  if (state.chosenUnit.value === null) return [["Click a unit to see its weights."]];
  const missing = state.weightFacts.value?.missing ?? [];
  // A reason may begin with a name, which is written as it is.
  return missing.slice(0, MOST_REASONS).map((why) => {
    const isSentence = why === NOT_WEIGHTED || why.startsWith(NOT_IN_FILE);
    const text = isSentence ? sentence(why) : `Not shown: ${why}.${isUnrecorded(why) ? " " + HOW_TO_RECORD : ""}`;
    return [text, why !== NOT_WEIGHTED];
  });
}

const HOW_TO_RECORD = 'NetView(…, weights="all") records all weights.';

/** Would more have been there to see? Gradients and what a watcher keeps are chosen elsewhere. */
function isUnrecorded(why: string): boolean {
  const isOfWeights = weightVariable(store.variable.value)?.name === "Wt" && state.known.value?.source === "netview";
  return isOfWeights && why.endsWith("was not recorded");
}
