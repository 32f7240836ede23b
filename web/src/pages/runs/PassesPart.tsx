/** The passes that can be opened in Graph: those of runs, and those that were saved by themselves. */
import { useEffect } from "preact/hooks";
import { obtain } from "../../data/collections";
import { formatCount, formatLarge, formatNumberOf, formatSeconds, formatShape } from "../../data/format";
import { groupPasses, type PassGroup } from "../../data/pass-groups";
import { askOf } from "../../data/requests";
import { addressOf } from "../../data/route";
import * as runs from "../../data/runs";
import * as store from "../../data/store";
import { useAsked } from "../../data/useAsked";
import type { SketchAnswer } from "../../wire";

/** More would be read than anybody looks at. */
const MAX_SKETCHES = 8;
const MAX_SHOWN = 40;
const LOOK_AGAIN_MS = 3000;

export function PassesPart() {
  // A pass that a run is given meanwhile shows up by itself.
  useEffect(() => {
    const look = (): void => {
      if (document.visibilityState === "visible") store.source.peek()?.refreshPasses();
    };
    look();
    const timer = setInterval(look, LOOK_AGAIN_MS);
    return () => clearInterval(timer);
  }, []);
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
  const { value: sketch } = useAsked(isSketched ? { key: first, version: "", ask: () => sketchOf(first) } : null);
  return (
    <li>
      <a href={addressOf("graph", { pass: newest.id })}>
        <span class="grow">
          <span class="row">
            <b class="clip">{group.name}</b>
            {sketch?.has_gradients === true && <span class="badge">with gradients</span>}
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

function saidOf(sketch: SketchAnswer): string {
  const parts = [
    formatNumberOf(sketch.num_ops, "op"),
    `${formatLarge(sketch.num_params)} parameters`,
    sketch.input_shape === null ? "" : formatShape(sketch.input_shape),
    sketch.elapsed_seconds > 0 ? formatSeconds(sketch.elapsed_seconds) : "",
  ];
  return parts.filter((part) => part !== "").join(" · ");
}

const [WIDTH, HEIGHT] = [132, 30];
const STEPS = 8;

/** How large the outputs of a pass's ops are, as bars in the order they ran. */
function SizeBars({ sizes, name }: { sizes: readonly number[]; name: string }) {
  const largest = Math.max(1, ...sizes);
  const pitch = Math.min(18, WIDTH / Math.max(1, sizes.length));
  return (
    <svg
      class="size-bars"
      width={WIDTH}
      height={HEIGHT}
      role="img"
      aria-label={`Sizes of the outputs of ${name}`}
    >
      {sizes.map((size, at) => {
        const height = Math.max(1.5, (size / largest) * HEIGHT);
        return (
          <rect
            key={at}
            class={`q${1 + Math.round((size / largest) * STEPS)}`}
            x={WIDTH - pitch * (sizes.length - at)}
            y={HEIGHT - height}
            width={Math.max(0.5, pitch - Math.min(1, pitch * 0.25))}
            height={height}
          />
        );
      })}
    </svg>
  );
}

// --- Sketches of passes: asked for once, one after the other, and kept.

const sketches = new Map<string, Promise<SketchAnswer | null>>();
let lastAsked: Promise<unknown> = Promise.resolve();

/** Null where it cannot be read: the page of the pass itself says why. */
function sketchOf(passId: string): Promise<SketchAnswer | null> {
  return obtain(sketches, passId, () => {
    const ask = () => askOf({ type: "sketch", pass_id: passId }, "sketch").then(({ answer }) => answer, () => null);
    const asked = lastAsked.then(ask);
    lastAsked = asked;
    return asked;
  });
}
