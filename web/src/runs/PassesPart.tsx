/** The passes that can be opened in Graph: those of runs, and those that were saved by themselves. */
import { useEffect } from "preact/hooks";
import { formatCount, formatLarge, formatNumberOf, formatSeconds, formatShape } from "../format";
import { addressOf } from "../route";
import * as store from "../store";
import { groupPasses, type PassGroup } from "./passgroups";
import { askForSketch, sketches, type PassSketch } from "./passsketches";
import { SizeBars } from "./SizeBars";
import * as runs from "./store";

/** More would be read than anybody looks at. */
const MAX_SKETCHES = 8;
const MAX_SHOWN = 40;
const LOOK_AGAIN_MS = 3000;

export function PassesPart() {
  usePassesAgain();
  const groups = groupPasses(store.source.value?.passes.value ?? [], runs.runsById.value);
  return (
    <section class="section passes" aria-label="Passes">
      <div class="row">
        <h2>Passes</h2>
        {groups.length > 0 && <span class="muted fs-1">bars: elements in each op’s output</span>}
      </div>
      {groups.length === 0 && (
        <p class="muted fs-2">
          None yet. <code>run.log_pass(step, "model", history)</code> puts one into a run.
        </p>
      )}
      <ul>
        {groups.slice(0, MAX_SHOWN).map((group, at) => (
          <PassItem key={group.passes[0]!.id} group={group} isSketched={at < MAX_SKETCHES} />
        ))}
      </ul>
      {groups.length > MAX_SHOWN && (
        <p class="muted fs-1">and {formatCount(groups.length - MAX_SHOWN)} more: Graph lists them all.</p>
      )}
    </section>
  );
}

function PassItem({ group, isSketched }: { group: PassGroup; isSketched: boolean }) {
  const newest = group.passes.at(-1)!;
  // Passes of one model differ little in this: the first stands for all, so that it is read once.
  const first = group.passes[0]!.id;
  useEffect(() => {
    if (isSketched) askForSketch(first);
  }, [first, isSketched]);
  const sketch = sketches.value.get(first);
  return (
    <li>
      <a href={addressOf("graph", { pass: newest.id })}>
        <span class="grow">
          <span class="row">
            <b class="clip">{group.name}</b>
            {sketch?.hasGradients === true && <span class="badge">with gradients</span>}
          </span>
          <small class="clip">{whereFrom(group)}</small>
          <small class="clip">{sketch ? saidOf(sketch) : newest.detail}</small>
        </span>
        {sketch ? <SizeBars sizes={sketch.sizes} name={group.name} /> : null}
      </a>
    </li>
  );
}

function whereFrom({ runId, runName, passes }: PassGroup): string {
  const newest = passes.at(-1)!;
  if (runId === "") return newest.detail;
  const step = newest.step === null ? "" : ` · step ${formatCount(newest.step)}`;
  return `${runName}${passes.length > 1 ? ` · ${formatNumberOf(passes.length, "pass", "passes")}` : ""}${step}`;
}

function saidOf(sketch: PassSketch): string {
  const parts = [
    formatNumberOf(sketch.numOps, "op"),
    `${formatLarge(sketch.numParams)} parameters`,
    sketch.inputShape === null ? "" : formatShape(sketch.inputShape),
    sketch.seconds > 0 ? formatSeconds(sketch.seconds) : "",
  ];
  return parts.filter((part) => part !== "").join(" · ");
}

/** A pass that a run is given meanwhile shows up by itself. */
function usePassesAgain(): void {
  useEffect(() => {
    const look = (): void => {
      if (document.visibilityState === "visible") store.source.peek()?.refreshPasses();
    };
    look();
    const timer = setInterval(look, LOOK_AGAIN_MS);
    return () => clearInterval(timer);
  }, []);
}
