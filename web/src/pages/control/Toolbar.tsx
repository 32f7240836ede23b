/** What can be done with the training, and where it is. */
import { useEffect, useId, useRef } from "preact/hooks";
import { control } from "../../data/control";
import { formatCount } from "../../data/format";
import { ActButton } from "../../ui/ActButton";
import { ShareBar } from "../../ui/Blank";
import { Icon } from "../../ui/Icon";
import { Segments, TextField } from "../../ui/controls";
import type { Counters } from "../../wire";
import * as commands from "./commands";
import { reasonAgainst } from "./commands";
import { initValues, seed } from "./drafts";
import { ListingBadge, ofAll } from "./listings";
import { chooseTable, TEST_ITEMS } from "./tables/table-data";

export function Toolbar() {
  const state = control.value?.listing.state ?? null;
  // The one thing to do, where it is the only one.
  const isFirst = state === "new" || state === "failed" || state === "died";
  return (
    <div class="toolbar control-bar" role="toolbar" aria-label="Training control">
      <ActButton
        icon="init"
        style={isFirst ? "primary" : ""}
        against={reasonAgainst("init")}
        hint="Begin anew, with these parameters and this seed"
        act={commands.init}
      >
        Init
      </ActButton>
      <div class="group">
        <ActButton icon="play" against={reasonAgainst("run")} hint="Go on to the end of all runs (r)" act={commands.run}>
          Run
        </ActButton>
        <StopButton />
      </div>
      <span class="sep" />
      <StepPart />
      <span class="sep" />
      <TestPart />
      <span class="sep" />
      <SeedPart />
      <div class="control-place">
        {control.value !== null && <ListingBadge listing={control.value.listing} />}
        <CountersPart />
      </div>
    </div>
  );
}

function StopButton() {
  const against = reasonAgainst("stop");
  // The second press of a double click is no second wish.
  const press = (event: MouseEvent): void => {
    if (event.detail < 2) commands.stop();
  };
  const hint = commands.endsProcess.value
    ? "End the process, whatever it is doing: what is in memory only is lost (s)"
    : "Stop after this trial (s)";
  return (
    <ActButton icon="stop" style={against === "" ? "stop" : ""} against={against} hint={hint} act={press}>
      Stop
    </ActButton>
  );
}

/** Step: one or several trials, epochs or runs. */
function StepPart() {
  const isBad = commands.stepCount.value === null;
  const against = reasonAgainst("step") || (isBad ? "The number of steps is a whole number of at least 1." : "");
  return (
    <div class="control-part">
      <ActButton icon="step" against={against} hint="Go on by so much (.)" act={commands.step}>
        Step
      </ActButton>
      <Segments
        label="Step size"
        words={commands.LEVELS.map((level) => [level, level] as const)}
        chosen={commands.stepLevel.value}
        choose={commands.setStepLevel}
      />
      <span class="muted" aria-hidden="true">
        ×
      </span>
      <TextField
        look="input count-field"
        inputMode="numeric"
        aria-label="Number of steps"
        isBad={isBad}
        value={commands.stepText.value}
        set={(text) => (commands.stepText.value = text)}
        keys={{ Enter: against === "" ? commands.step : undefined }}
      />
    </div>
  );
}

const COUNTERS = [
  ["Run", "run", "num_runs"],
  ["Epoch", "epoch", "num_epochs"],
  ["Trial", "trial", "num_trials"],
] as const;

/** Where the training is: what is done of runs, epochs and trials. */
function CountersPart() {
  const counters = control.value?.listing.counters;
  if (counters === undefined) return null;
  return (
    <div class="control-counters">
      <dl class="counters" aria-label="Counters">
        {COUNTERS.map(([name, done, all]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{ofAll(counters[done], counters[all])}</dd>
          </div>
        ))}
      </dl>
      <TrialsBar counters={counters} />
    </div>
  );
}

function TrialsBar({ counters: { trial, num_trials } }: { counters: Counters }) {
  // Where nobody knows how many there will be, its place is kept.
  if (num_trials === null || num_trials === 0) return <div class="bar" aria-hidden="true" />;
  return <ShareBar label="Trials of this epoch" now={Math.round((100 * Math.min(trial, num_trials)) / num_trials)} most={100} />;
}

/** Test one item, or all of them. */
function TestPart() {
  const last = commands.numItems.value - 1;
  const item = commands.item.value;
  const isBad = last >= 0 && item === null;
  const against = reasonAgainst("test");
  const againstItem = against || (isBad ? `The items are numbered from 0 to ${formatCount(last)}.` : "");
  const test = (): void => {
    if (againstItem !== "" || item === null) return;
    commands.testItem(item);
    chooseTable(TEST_ITEMS);
  };
  const goTo = (to: number) => () => (commands.itemText.value = String(Math.max(0, Math.min(last, to))));
  return (
    <div class="control-part">
      <div class="group">
        <ActButton icon="flask" against={againstItem} hint="Test one item, and show it in the network and under Test items" act={test}>
          Test item
        </ActButton>
        <TextField
          look="input count-field"
          inputMode="numeric"
          aria-label="Item to test"
          title={last >= 0 ? `From 0 to ${formatCount(last)}` : undefined}
          isBad={isBad}
          value={commands.itemText.value}
          set={(text) => (commands.itemText.value = text)}
          keys={{ Enter: test, ...(item !== null && { ArrowUp: goTo(item + 1), ArrowDown: goTo(item - 1) }) }}
        />
      </div>
      <ActButton against={against} hint="Test every item of the test set" act={commands.testAll}>
        Test all
      </ActButton>
    </div>
  );
}

/** Short enough to be read out and typed again. */
const NUM_SEEDS = 1_000_000;

/** The seed of the next Init: another one, or one that somebody writes to see the same again. */
function SeedPart() {
  const noteId = useId();
  const input = useRef<HTMLInputElement>(null);
  const { field, text, reading, isChanged } = seed.value;
  const problem = "problem" in reading ? reading.problem : "";
  const isOff = control.value === null;
  const asked = commands.problemAsked.value;
  const change = (typed: string | null): void => commands.retype(field.name, typed);
  useEffect(() => {
    // Where the form has problems, too, they come first.
    if (asked > 0 && problem !== "" && initValues() !== null) input.current?.focus();
  }, [asked]);
  return (
    <div class={`group seed-group${isChanged ? " changed" : ""}`}>
      <button class="btn" disabled={isOff} title="Another seed for the next Init" onClick={() => change(otherSeed(text))}>
        <Icon name="dice" />
        New seed
      </button>
      <TextField
        ref={input}
        look="input count-field"
        inputMode="numeric"
        aria-label="Seed"
        disabled={isOff}
        isBad={problem !== ""}
        aria-describedby={problem === "" ? undefined : noteId}
        title={isChanged ? "Takes effect at the next Init" : "The seed of this training"}
        value={text}
        set={change}
        keys={{ Escape: isChanged ? () => change(null) : undefined }}
      />
      {problem !== "" && (
        <span id={noteId} class="hint float seed-note">
          {problem}
        </span>
      )}
    </div>
  );
}

function otherSeed(before: string): string {
  const [random] = crypto.getRandomValues(new Uint32Array(1));
  const other = random! % NUM_SEEDS;
  return String(String(other) === before ? (other + 1) % NUM_SEEDS : other);
}
