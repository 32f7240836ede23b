/** Where the training is: what is done of runs, epochs and trials. */
import type { Counters } from "../wire";
import { control } from "./store";
import { ofAll } from "./wording";

export function CountersPart() {
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
