/** Trainings in a line: how one stands in a word with its shape and in a sentence, in the top bar, on the start page. */
import { isConnected, lastHeard } from "../../data/connection";
import { control, controlId, controls } from "../../data/control";
import { formatCount } from "../../data/format";
import { addressOf, setParams } from "../../data/route";
import { Picker } from "../../ui/Picker";
import { Shape } from "../../ui/StateBadge";
import type { ShownState } from "../../ui/run-states";
import { formatHour } from "../../ui/times";
import type { ControlListing, ControlState, Counters, Fault } from "../../wire";

interface Kind extends Pick<ShownState, "shape" | "style"> {
  /** What is said aloud when it begins, where it is no fault. */
  readonly sentence?: string;
}

const KINDS: Record<ControlState, Kind> = {
  starting: { shape: "ring", style: "", sentence: "The training is starting." },
  new: { shape: "ring", style: "", sentence: "Not initialised. Init builds the network and the data." },
  ready: { shape: "dot", style: "", sentence: "Ready." },
  busy: { shape: "dot", style: "live" },
  stopping: { shape: "dot", style: "warn", sentence: "Stopping after this trial. Stop again ends the process." },
  done: { shape: "check", style: "", sentence: "All runs are done." },
  failed: { shape: "cross", style: "died" },
  died: { shape: "cross", style: "died" },
};

/** By the first word of what is under way: all of it, beside the counters, would read like one of them, Run 0 / 10. */
const BUSY_WORDS: Readonly<Record<string, string>> = { Run: "running", Step: "stepping", Test: "testing" };

function wordOf({ state, doing }: ControlListing): string {
  if (state === "busy") return BUSY_WORDS[doing.split(" ")[0]!] ?? "busy";
  return state === "new" ? "not initialised" : state;
}

export function ListingBadge({ listing }: { listing: ControlListing }) {
  const { word, shape, style } = isConnected.value ? { word: wordOf(listing), ...KINDS[listing.state] } : unseen();
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

/** `12 / 50`, or `12` where nobody knows how many there will be. */
export function ofAll(done: number, all: number | null): string {
  return all === null ? formatCount(done) : `${formatCount(done)} / ${formatCount(all)}`;
}

export function faultTitle(state: ControlState, fault: Fault | null): string {
  if (state === "died") return "The training process has ended";
  return fault === null || fault.error === "" ? "Training stopped" : `Training stopped: ${fault.error}`;
}

export function sentenceOf({ state, doing }: ControlListing, fault: Fault | null): string {
  if (state === "busy") return `${doing || "Training"} is under way.`;
  const message = fault === null || fault.message === "" ? "" : `: ${fault.message}`;
  return KINDS[state].sentence ?? `${faultTitle(state, fault)}${message}`;
}

/** In the top bar: which training is shown, with its seed, and a list to choose another from where there are several. */
export function ControlPicker() {
  const all = controls.value ?? [];
  const now = all.find(({ id }) => id === controlId.value);
  if (all.length === 0) return null;
  const seed = control.value?.listing.id === controlId.value ? control.value.seed : null;
  return (
    <Picker
      label="Trainings"
      options={() => all.map((one) => ({ id: one.id, name: one.name, detail: wordOf(one), title: one.target }))}
      chosen={controlId.value}
      choose={(id) => setParams({ c: id })}
      alone={all.length === 1 ? now?.target : undefined}
    >
      <span class="clip">{now?.name ?? "Choose a training"}</span>
      {seed !== null && <span class="muted">seed {seed}</span>}
    </Picker>
  );
}

/** On the start page: the trainings that can be controlled, and how they go. */
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
                <small class="clip">{placeOf(one.counters)}</small>
              </span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function placeOf({ run, num_runs, epoch, num_epochs, trial, num_trials, step }: Counters): string {
  if (run === 0 && step === 0) return "not begun";
  return `run ${ofAll(run, num_runs)} · epoch ${ofAll(epoch, num_epochs)} · trial ${ofAll(trial, num_trials)}`;
}
