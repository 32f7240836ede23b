/** What can be done with the training, and where it is. */
import { useEffect, useId, useRef } from "preact/hooks";
import { about, control } from "../../data/control";
import { formatCount } from "../../data/format";
import { ActButton } from "../../ui/ActButton";
import { Icon } from "../../ui/Icon";
import { Segments } from "../../ui/controls";
import type { Counters } from "../../wire";
import { ControlBadge } from "./badges";
import {
  complaint,
  dismissRefusal,
  init,
  item,
  itemText,
  LEVELS,
  problemAsked,
  reasonAgainst,
  run,
  setStepLevel,
  step,
  stepCount,
  stepLevel,
  stepText,
  stop,
  testAll,
  testItem,
} from "./commands";
import {
  editSeed,
  isSeedChanged,
  problems,
  revertSeed,
  SEED_REQUIREMENT,
  seedText,
  shownSeed,
} from "./drafts";
import { chooseTable, TEST_ITEMS } from "./tables/table-data";
import { ofAll } from "./words";

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
        act={init}
      >
        Init
      </ActButton>
      <div class="group">
        <ActButton icon="play" against={reasonAgainst("run")} hint="Go on to the end of all runs (r)" act={run}>
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
        <ControlBadge />
        <CountersPart />
      </div>
    </div>
  );
}

function StopButton() {
  const state = control.value?.listing.state;
  const against = reasonAgainst("stop");
  // The second press of a double click is no second wish.
  const press = (event: MouseEvent): void => {
    if (event.detail < 2) stop();
  };
  const hint =
    state === "stopping" || state === "starting"
      ? "End the process, whatever it is doing: what is in memory only is lost (s)"
      : "Stop after this trial (s)";
  return (
    <ActButton icon="stop" style={against === "" ? "stop" : ""} against={against} hint={hint} act={press}>
      Stop
    </ActButton>
  );
}

// --- Step: one or several trials, epochs or runs.

function StepPart() {
  const isBad = stepCount.value === null;
  const against = reasonAgainst("step") || (isBad ? "The number of steps is a whole number of at least 1." : "");
  return (
    <div class="control-part">
      <ActButton icon="step" against={against} hint="Go on by so much (.)" act={step}>
        Step
      </ActButton>
      <Segments
        label="Step size"
        words={LEVELS.map((level) => [level, level] as const)}
        chosen={stepLevel.value}
        choose={setStepLevel}
      />
      <span class="muted" aria-hidden="true">
        ×
      </span>
      <input
        class={`input count-field${isBad ? " bad" : ""}`}
        inputMode="numeric"
        aria-label="Number of steps"
        aria-invalid={isBad}
        value={stepText.value}
        onInput={(event) => (stepText.value = event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && against === "") step();
        }}
      />
    </div>
  );
}

// --- Where the training is: what is done of runs, epochs and trials.

function CountersPart() {
  const counters = control.value?.listing.counters;
  if (counters === undefined) return null;
  return (
    <div class="control-counters">
      <dl class="counters" aria-label="Counters">
        <Counter name="Run" done={counters.run} all={counters.num_runs} />
        <Counter name="Epoch" done={counters.epoch} all={counters.num_epochs} />
        <Counter name="Trial" done={counters.trial} all={counters.num_trials} />
      </dl>
      <TrialsBar counters={counters} />
    </div>
  );
}

function Counter({ name, done, all }: { name: string; done: number; all: number | null }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{ofAll(done, all)}</dd>
    </div>
  );
}

function TrialsBar({ counters: { trial, num_trials } }: { counters: Counters }) {
  // Where nobody knows how many there will be, its place is kept.
  if (num_trials === null || num_trials === 0) return <div class="bar" aria-hidden="true" />;
  const percent = Math.round((100 * Math.min(trial, num_trials)) / num_trials);
  return (
    <div class="bar" role="progressbar" aria-label="Trials of this epoch" aria-valuenow={percent}>
      <i style={{ width: `${percent}%` }} />
    </div>
  );
}

// --- Test one item, or all of them.

function TestPart() {
  const last = (about.value?.num_test_items ?? 0) - 1;
  const isBad = last >= 0 && item.value === null;
  const against = reasonAgainst("test");
  const againstItem = against || (isBad ? `The items are numbered from 0 to ${formatCount(last)}.` : "");
  const test = (): void => {
    if (againstItem !== "" || item.value === null) return;
    testItem(item.value);
    chooseTable(TEST_ITEMS);
  };
  return (
    <div class="control-part">
      <div class="group">
        <ActButton icon="flask" against={againstItem} hint="Test one item, and show it in the network and under Test items" act={test}>
          Test item
        </ActButton>
        <input
          class={`input count-field${isBad ? " bad" : ""}`}
          inputMode="numeric"
          aria-label="Item to test"
          title={last >= 0 ? `From 0 to ${formatCount(last)}` : undefined}
          aria-invalid={isBad}
          value={itemText.value}
          onInput={(event) => (itemText.value = event.currentTarget.value)}
          onKeyDown={(event) => {
            const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
            if (event.key === "Enter") test();
            if (by === undefined || item.value === null) return;
            event.preventDefault();
            itemText.value = String(Math.max(0, Math.min(last, item.value + by)));
          }}
        />
      </div>
      <ActButton against={against} hint="Test every item of the test set" act={testAll}>
        Test all
      </ActButton>
    </div>
  );
}

// --- The seed of the next Init: another one, or one that somebody writes to see the same again.

/** Short enough to be read out and typed again. */
const NUM_SEEDS = 1_000_000;

function SeedPart() {
  const noteId = useId();
  const field = useRef<HTMLInputElement>(null);
  const isBad = shownSeed.value === null;
  const isOff = control.value === null;
  const asked = problemAsked.value;
  useEffect(() => {
    // Where the form has problems, too, they come first.
    if (asked > 0 && shownSeed.peek() === null && problems.peek().length === 0) field.current?.focus();
  }, [asked]);
  return (
    <div class={`group seed-group${isSeedChanged.value ? " changed" : ""}`}>
      <button
        class="btn"
        disabled={isOff}
        title="Another seed for the next Init"
        onClick={() => change(String(otherSeed(shownSeed.peek())))}
      >
        <Icon name="dice" />
        New seed
      </button>
      <input
        ref={field}
        class={`input count-field${isBad ? " bad" : ""}`}
        inputMode="numeric"
        aria-label="Seed"
        disabled={isOff}
        aria-invalid={isBad}
        aria-describedby={isBad ? noteId : undefined}
        title={isSeedChanged.value ? "Takes effect at the next Init" : "The seed of this training"}
        value={seedText.value}
        onInput={(event) => change(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape" || !isSeedChanged.peek()) return;
          event.preventDefault();
          event.stopPropagation();
          change(null);
        }}
      />
      {isBad && (
        <span id={noteId} class="hint float seed-note">
          {SEED_REQUIREMENT}
        </span>
      )}
    </div>
  );
}

/** Null takes back what was typed. */
function change(text: string | null): void {
  if (text === null) revertSeed();
  else editSeed(text);
  // What was said of the seed before says nothing of this one.
  if (complaint.peek() !== "") dismissRefusal();
}

function otherSeed(seed: number | null): number {
  const [random] = crypto.getRandomValues(new Uint32Array(1));
  const other = random! % NUM_SEEDS;
  return other === seed ? (other + 1) % NUM_SEEDS : other;
}
