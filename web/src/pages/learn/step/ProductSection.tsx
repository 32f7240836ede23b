/** Local times upstream: the factors and what they make, laid out as a product. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { formatNumberOf, formatShape } from "../../../data/format";
import type { BackwardStep, Cells } from "../../../wire";
import { elementFor, type Part, type Working, workingOf } from "../arithmetic";
import { elementName, factorText, inkOf, numbersOf, resultText } from "../cells";
import { judged, type Judgement } from "../steps";
import * as store from "../store";
import { ElementLine, NumberTable, Terms } from "./NumberTable";

const HEADS = {
  seed: "Where it begins",
  elementwise: "Local × upstream = contribution",
  matrix: "Local × upstream = contribution",
  moved: "Upstream, moved = contribution",
  general: "Upstream × Jacobian = contribution",
} as const;

/** What is neither multiplied nor merely put elsewhere. */
const MOVED_HEADS: Readonly<Record<string, string>> = {
  mean: "Upstream, shared out = contribution",
  sum: "Upstream, copied = contribution",
  expand: "Upstream, summed = contribution",
};

/** Side by side as long as they have room: cells and what stands between them. */
const CELL_WIDTH = 48;
const ROOM = 368;

export function ProductSection({ step }: { step: BackwardStep }) {
  const nth = store.element.value;
  const working = workingOf(step, nth);
  const isSecret = store.isHidden.value;
  const to = store.lesson.value!.nodes[step.to]!;
  const from = store.lesson.value!.nodes[step.node]!;
  const point = (part: Part) => (at: number | null): void => {
    store.hoveredElement.value = at === null ? null : elementFor(step, part, at, store.element.peek());
  };
  const upstreamLabel = `upstream ∂L/∂${from.name}`;
  const factor = (part: "left" | "right" | "upstream", cells: Cells, label: string) => (
    <NumberTable
      cells={cells}
      ink={part === "upstream" ? "gradient" : inkOf(step, cells)}
      label={label.replace(/^upstream/, upstreamLabel)}
      marked={working[part]}
      onHover={point(part)}
    />
  );
  const terms = step.form === "seed" ? null : termsToTell(working);
  const factors = ({ form, left, right, left_label, right_label, upstream }: BackwardStep) => {
    if (left === null || right === null) return form !== "seed" && <Row sign="">{factor("upstream", upstream, "upstream")}</Row>;
    return (
      <>
        {factor("left", left, left_label)}
        <Row sign={form === "matrix" ? "·" : "×"}>{factor("right", right, right_label)}</Row>
      </>
    );
  };
  const isSummed = step.sums.length > 0;
  const result = (
    <NumberTable
      cells={step.contribution}
      ink="gradient"
      label={`contribution to ∂L/∂${to.name}`}
      marked={new Set([nth])}
      isSecret={isSecret}
      active={nth}
      onActive={store.chooseElement}
      onHover={point("contribution")}
    />
  );
  return (
    <div class="section">
      <h3>{(step.form === "moved" ? MOVED_HEADS[step.rule] : undefined) ?? HEADS[step.form]}</h3>
      <div class={isBeside(step) ? "product" : "product stacked"}>
        {factors(step)}
        {isSummed && (
          <Row sign="=">
            <NumberTable cells={step.raw} ink="gradient" label="before the sum" marked={working.raw} isSecret={isSecret} onHover={point("raw")} />
          </Row>
        )}
        {step.form === "seed" ? result : <Row sign={isSummed ? "Σ" : "="}>{result}</Row>}
      </div>
      <SumNotes step={step} />
      {isSecret ? (
        <GuessBox key={store.step.value} step={step} />
      ) : (
        <>
          <ElementLine name={elementName(to.name, step.contribution, nth)} total={working.total}>
            {terms === null ? null : <Terms terms={terms} />}
          </ElementLine>
          <FanNote step={step} nth={nth} />
        </>
      )}
    </div>
  );
}

/** Not where all that would be written is the number itself. */
function termsToTell({ terms, total }: Working): Working["terms"] {
  return terms?.length === 1 && terms[0]!.length === 1 && terms[0]![0] === total ? null : terms;
}

function Row({ sign, children }: { sign: string; children: ComponentChildren }) {
  return (
    <>
      <span class="sign" aria-hidden="true">
        {sign}
      </span>
      {children}
    </>
  );
}

/** Have both factors room beside each other? Then what they make stands below the right one. */
function isBeside({ left, right, contribution, raw }: BackwardStep): boolean {
  if (left === null || right === null) return false;
  const widest = Math.max(right.num_columns, contribution.num_columns, raw.num_columns);
  return (left.num_columns + widest) * CELL_WIDTH <= ROOM;
}

// --- Why a contribution is summed: what was broadcast on the way forward is added up on the way back.

function SumNotes({ step: { sums, raw, contribution } }: { step: BackwardStep }) {
  if (sums.length === 0) return null;
  return (
    <div class="learn-note">
      <p>
        Summed from <b>{formatShape(raw.shape)}</b> to <b>{formatShape(contribution.shape)}</b>:
      </p>
      <ul>
        {sums.map(({ dim, size, reason }) => (
          <li key={dim}>
            <span class="mono">dim {dim}</span> ({size}). {reason}
          </li>
        ))}
      </ul>
    </div>
  );
}

// --- A value that was read several times: what had arrived, what arrives now, and what that makes.

function FanNote({ step, nth }: { step: BackwardStep; nth: number }) {
  const { name } = store.lesson.value!.nodes[step.to]!;
  if (step.num_all < 2) return null;
  const rest = step.num_all - step.number;
  const [before, now, after] = [step.before, step.contribution, step.after].map((cells) =>
    cells === null ? null : (numbersOf(cells)[nth] ?? NaN),
  );
  return (
    <div class="learn-note fan">
      <p>
        {name} is used {step.num_all} times: contribution {step.number} of {step.num_all}.
        {rest > 0 && ` ${formatNumberOf(rest, "more is", "more are")} to come.`}
      </p>
      {before !== null && before !== undefined && (
        <p data-testid="sum">
          <span class="mono">{elementName(name, step.after, nth)}</span>: {factorText(before)} before{" "}
          <span class="muted">+</span> {factorText(now!, false)} now <span class="muted">=</span>{" "}
          <b>{resultText(after!)}</b>
        </p>
      )}
      {before !== null && (
        <NumberTable cells={step.after} ink="gradient" label={`∂L/∂${name} so far`} marked={new Set([nth])} />
      )}
    </div>
  );
}

// --- Before a contribution is shown: type what the outlined element will be, or have it shown.

function GuessBox({ step }: { step: BackwardStep }) {
  const [text, setText] = useState("");
  const [said, setSaid] = useState<Judgement | null>(null);
  const nth = store.element.value;
  const name = elementName(store.lesson.value!.nodes[step.to]!.name, step.contribution, nth);
  const submit = (event: Event): void => {
    event.preventDefault();
    if (text.trim() === "" || said?.isRight === true) store.reveal();
    else setSaid(judged(text, numbersOf(step.contribution)[nth] ?? NaN));
  };
  return (
    <form class="guess" onSubmit={submit}>
      <label for="guess">
        What arrives at <span class="mono">{name}</span>?
      </label>
      <div class="row">
        <input
          id="guess"
          class={said?.isRight === false ? "input bad" : "input"}
          autocomplete="off"
          inputMode="decimal"
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setSaid(null);
          }}
        />
        <button class="btn" type="submit" disabled={text.trim() === ""}>
          Check
        </button>
        <button class="btn" type="button" onClick={store.reveal} title="Show the contribution (Enter)">
          Show
        </button>
      </div>
      <p class={said?.isRight === true ? "right" : "hint"} role="status">
        {said?.message}
        {said?.isRight === true && " Press Show for the other elements."}
      </p>
    </form>
  );
}
