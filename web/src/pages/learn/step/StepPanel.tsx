/** The right panel: the rule of the step, its numbers, what others say of them, and the colours. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { isConnected } from "../../../data/connection";
import { formatNumberOf, formatShape, formatValue } from "../../../data/format";
import { Hint } from "../../../ui/Blank";
import { Icon } from "../../../ui/Icon";
import { HidePanel } from "../../../ui/PanelPlace";
import { stepClass } from "../../../ui/colour-scale";
import { LimitField, Ramp, Segments } from "../../../ui/controls";
import type { BackwardStep, Cells, LearnCheck, LearnNode } from "../../../wire";
import { elementFor, forwardOf, type Part, resultFor, type Worked, type Working, workingOf } from "../arithmetic";
import {
  cellFormat, checkText, elementName, errorText, factorText, inkOf, numbersOf, resultText, scaleFor, sizeOf, toleranceText,
} from "../cells";
import { FormulaView } from "../FormulaView";
import { tryChecksAgain } from "../lessons";
import { judged, type Judgement, written } from "../steps";
import * as store from "../store";
import { ElementLine, NumberTable, Terms } from "./NumberTable";

export function StepPanel() {
  const node = store.currentNode.value;
  return (
    <aside class="panel" aria-label="Current step">
      <div class="panel-head ruled">
        <h2 class="step-title">{store.count.value === 0 ? "Step" : `Step ${store.step.value}`}</h2>
        <Through />
        <span class="grow" />
        <HidePanel side="right" label="Hide the right panel" />
      </div>
      <div class="panel-body" tabIndex={-1}>
        <NodeSection />
        {store.direction.value === "backward" ? <Backward /> : node !== null && <ForwardSection key={node.id} node={node} />}
        {store.lesson.value !== null ? <ColourSection /> : <p class="section muted fs-2">Each step is explained here.</p>}
      </div>
    </aside>
  );
}

function Through() {
  const [node, step] = [store.currentNode.value, store.backwardStep.value];
  if (node === null) return null;
  if (step === null) return <code class="dim clip">{written(node)}</code>;
  const to = store.lesson.value!.nodes[step.to]!.name;
  return (
    <span class="dim fs-2 through" title={`${written(node)}, to ${to}`}>
      <span class="clip">
        {step.form === "seed" ? "at " : "through "}
        <code>{written(node)}</code>
      </span>
      {step.form !== "seed" && (
        <span class="to">
          {" to "}
          <code>{to}</code>
        </span>
      )}
    </span>
  );
}

function Backward() {
  const step = store.backwardStep.value;
  if (step === null) return null;
  return (
    <>
      <div class="section">
        <h3>{step.rule === "" ? "The beginning" : `Rule of ${step.rule}`}</h3>
        <FormulaView latex={step.formula} />
        <p class="dim words">{step.words}</p>
      </div>
      <ProductSection step={step} />
      <JacobianSection step={step} />
      <CheckSection step={step} />
    </>
  );
}

// --- Local times upstream: the factors and what they make, laid out as a product.

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

function ProductSection({ step }: { step: BackwardStep }) {
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
      <h3>{headOf(step)}</h3>
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

function headOf({ form, rule }: BackwardStep): string {
  return (form === "moved" ? MOVED_HEADS[rule] : undefined) ?? HEADS[form];
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

// --- A value that was chosen in the graph: its numbers, and what has arrived there so far.

function NodeSection() {
  const id = store.lookedAt.value;
  const node = id === null ? undefined : store.lesson.value?.nodes[id];
  if (node === undefined) return null;
  const gradient = store.shownGradient(node.id);
  return (
    <section class="section node-part" aria-label={`Numbers of ${node.name}`}>
      <div class="row">
        <h3>
          <code>{node.kind === "op" ? written(node) : node.name}</code>
          <span>
            {" "}
            {node.kind === "op" ? node.rule : node.kind}, {formatShape(node.value.shape)}, {node.dtype}
            {node.layer !== "" && `, in ${node.layer}`}
          </span>
        </h3>
        <span class="grow" />
        <button
          class="btn quiet sm square"
          aria-label={`Hide the numbers of ${node.name}`}
          title="Hide (Esc)"
          onClick={() => (store.lookedAt.value = null)}
        >
          <Icon name="close" />
        </button>
      </div>
      <div class="stack">
        {store.isMade(node.id) ? <NumberTable cells={node.value} ink="value" label="value" /> : <p class="muted fs-1">Its value is not computed yet.</p>}
        {gradient.state === "arrived" ? (
          <NumberTable
            cells={gradient.cells}
            ink="gradient"
            label={gradient.isAll ? `gradient ∂L/∂${node.name}` : `gradient, ${gradient.step.number} of ${gradient.step.num_all} contributions`}
          />
        ) : (
          <p class="muted fs-1">{gradient.state === "none" ? "No gradient is wanted here." : "Its gradient has not arrived yet."}</p>
        )}
      </div>
    </section>
  );
}

// --- How each element of an output changes with each of the input, as a table.

function JacobianSection({ step }: { step: BackwardStep }) {
  // Where it says what nothing else says, it is open; elsewhere it is there for who wants it.
  const [isOpen, setIsOpen] = useState<boolean | null>(null);
  const jacobian = step.jacobian;
  // While one guesses it would tell.
  if (jacobian === null || store.isHidden.value) return null;
  const { cells, rows, columns } = jacobian;
  const numbers = numbersOf(cells);
  const [format, scale] = [cellFormat(numbers), scaleFor(cells, "value")];
  const nth = store.element.value;
  const isShown = isOpen ?? step.form === "moved";
  return (
    <details class="section jacobian" aria-label="Jacobian" open={isShown} onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>
        Jacobian, {rows.length}×{columns.length}
      </summary>
      {/* It scrolls, so it can have the focus. */}
      <div class="mat-body" tabIndex={0} role="region" aria-label="Numbers of the Jacobian">
        <table>
          <thead>
            <tr>
              <td />
              {columns.map((name, column) => (
                <th key={column} scope="col" class={column === nth ? "on" : ""}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, cells.num_rows).map((name, row) => (
              <tr key={row}>
                <th scope="row">{name}</th>
                {numbers.slice(row * cells.num_columns, (row + 1) * cells.num_columns).map((value, column) => (
                  <td key={column} class={`cell ${stepClass(scale, value)} ${column === nth ? "marked" : ""}`}>
                    {format(value)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="muted fs-1">A row for each element of the output, a column for each of the input.</p>
    </details>
  );
}

// --- The whole gradient, asked of others: torch's autograd, and differences of the loss.

function CheckSection({ step }: { step: BackwardStep }) {
  const node = store.lesson.value!.nodes[step.to]!;
  const check = store.checks.value.get(step.to) ?? null;
  const nth = store.element.value;
  const ours = node.gradient;
  if (ours === null || store.isHidden.value) return null;
  const rest = step.num_all - step.number;
  return (
    <div class="section check-part">
      <div class="row">
        <h3>Check</h3>
        <span class="grow" />
        <span class="muted fs-1">
          {elementName(node.name, ours, nth)}, and largest over {sizeOf(ours)}
        </span>
      </div>
      <table class="table checks" aria-label="Check of the gradient">
        <thead>
          <tr>
            <th>Source</th>
            <th class="num">Gradient</th>
            <th class="num">Error</th>
            <th class="num">Largest</th>
            <td />
          </tr>
        </thead>
        <tbody>
          <tr>
            <td>ours</td>
            <td class="num">{textAt(ours, nth)}</td>
            <td class="num muted">–</td>
            <td class="num muted">–</td>
            <td />
          </tr>
          {OTHERS.map(([name, of]) => (
            <CheckRow key={name} name={name} check={check === null ? null : of(check)} ours={ours} nth={nth} />
          ))}
        </tbody>
      </table>
      {rest > 0 && <p class="muted fs-1">Of the whole gradient, with all {step.num_all} contributions.</p>}
      {check !== null && check.note !== "" && <p class="muted fs-1">{check.note.charAt(0).toUpperCase() + check.note.slice(1)}</p>}
      <Trouble />
    </div>
  );
}

type Check = readonly [gradient: Cells | null, largestError: number | null, tolerance: number];

/** Who else computes it, and what is said of theirs. */
const OTHERS: readonly (readonly [name: string, of: (check: LearnCheck) => Check])[] = [
  ["torch", (check) => [check.torch, check.torch_error, check.tolerance]],
  ["finite difference", (check) => [check.difference, check.difference_error, check.difference_tolerance]],
];

function CheckRow({ name, check, ours, nth }: { name: string; check: Check | null; ours: Cells; nth: number }) {
  if (check === null) {
    return (
      <tr>
        <td>{name}</td>
        <td class="num muted" colSpan={4}>
          {store.checking.value.state === "waiting" ? "on its way" : "–"}
        </td>
      </tr>
    );
  }
  const [theirs, largest, tolerance] = check;
  const error = theirs === null ? NaN : Math.abs((numbersOf(theirs)[nth] ?? NaN) - (numbersOf(ours)[nth] ?? NaN));
  const isNear = largest !== null && largest <= tolerance;
  return (
    <tr>
      <td>{name}</td>
      <td class="num">{theirs === null ? "–" : textAt(theirs, nth)}</td>
      <td class="num">{Number.isNaN(error) ? "–" : errorText(error)}</td>
      <td class="num">{largest === null ? "–" : errorText(largest)}</td>
      <td class="num">
        {largest !== null && <Said isRight={isNear} message={`${isNear ? "within" : "over"} ${toleranceText(tolerance)}`} />}
      </td>
    </tr>
  );
}

export function Said({ isRight, message }: { isRight: boolean; message: string }) {
  return (
    <span class={isRight ? "verdict right" : "verdict wrong"}>
      <Icon name={isRight ? "check" : "close"} />
      {message}
    </span>
  );
}

function Trouble() {
  const state = store.checking.value;
  if (state.state === "failed") {
    return (
      <p class="hint">
        {state.reason}{" "}
        <button class="link" onClick={tryChecksAgain}>
          Ask again
        </button>
      </p>
    );
  }
  if (state.state !== "waiting" || isConnected.value) return null;
  return <p class="muted fs-1">The checks come when the server is there again.</p>;
}

function textAt(cells: Cells, nth: number): string {
  const value = numbersOf(cells)[nth];
  return value === undefined ? "–" : checkText(value);
}

// --- A step of the way forward: the line of the op, what goes into it, what comes out, and one element
//   written out.

function ForwardSection({ node }: { node: LearnNode }) {
  const parents = node.parents.map((parent) => store.lesson.value!.nodes[parent]!);
  const inputs = parents.map(({ value }) => value);
  const nth = store.element.value;
  const { worked, total, parts } = forwardOf(node, inputs, nth);
  const markedOf = (id: number): ReadonlySet<number> =>
    new Set(parents.flatMap((parent, at) => (parent.id === id ? [...parts[at]!] : [])));
  const point = (at: number | null): void => {
    store.hoveredElement.value = at;
  };
  return (
    <div class="section">
      <h3>Forward</h3>
      <code class="forward-line">
        {node.name} = {node.text || node.rule}
      </code>
      <h3 class="later">What goes in</h3>
      <div class="stack">
        {[...new Set(parents)].map(({ id, name, value }) => (
          <NumberTable
            key={id}
            cells={value}
            ink="value"
            label={name}
            marked={markedOf(id)}
            onHover={(at) => point(at === null ? null : resultFor(node, inputs, value, at, store.element.peek()))}
          />
        ))}
        {parents.length === 0 && <p class="muted fs-1">Only numbers.</p>}
      </div>
      <h3 class="later">What comes out</h3>
      <NumberTable
        cells={node.value}
        ink="value"
        label={node.name}
        role="table"
        marked={new Set([nth])}
        active={nth}
        onActive={store.chooseElement}
        onHover={point}
      />
      <ElementLine name={elementName(node.name, node.value, nth)} total={total}>
        {worked.form === "none" ? null : <Calculation worked={worked} />}
      </ElementLine>
    </div>
  );
}

function Calculation({ worked }: { worked: Exclude<Worked, { form: "none" }> }) {
  if (worked.form === "products") return <Terms terms={worked.terms} />;
  if (worked.form === "function") {
    return (
      <span class="term">
        {worked.name}({factorText(worked.of)})
      </span>
    );
  }
  // A power binds before the minus of its base.
  const isPower = worked.sign === "**";
  return (
    <span class="term">
      {factorText(worked.left, !isPower)}
      <span class="muted"> {worked.sign} </span>
      {factorText(worked.right, false)}
    </span>
  );
}

// --- What the colours mean, with their limits, which can be fixed: one scale for values, one for gradients.

function ColourSection() {
  return (
    <div class="section">
      <div class="row">
        <h3>Colour</h3>
        <span class="grow" />
        <Segments
          label="Scale of the colours"
          words={[
            ["shared", "All alike", "One scale for all values, one for all gradients"],
            ["own", "Each tensor", "Each tensor up to its own largest"],
          ]}
          chosen={store.isScaleShared.value ? "shared" : "own"}
          choose={(word) => (store.isScaleShared.value = word === "shared")}
        />
      </div>
      <Ramp map="div" />
      {store.isScaleShared.value ? (
        <>
          <ScaleEnd ink="value" name="values" />
          <ScaleEnd ink="gradient" name="gradients" />
        </>
      ) : (
        <div class="ramp-ends">
          <span>− its largest</span>
          <span class="middle">0</span>
          <span>its largest</span>
        </div>
      )}
    </div>
  );
}

// --- Where a scale ends at both sides, in numbers, and a field to fix it.

function ScaleEnd({ ink, name }: { ink: "value" | "gradient"; name: string }) {
  const [error, setError] = useState("");
  const [limit, fixed] = [store.limits.value[ink], store.fixedLimits.value[ink]];
  const set = (typed: number | null): void => {
    const isUsable = typed === null || (Number.isFinite(typed) && typed > 0);
    setError(isUsable ? "" : "A limit is a number over 0, or nothing for automatic.");
    if (isUsable) store.fixedLimits.value = { ...store.fixedLimits.peek(), [ink]: typed };
  };
  return (
    <div class="scale-end" role="group" aria-label={`Scale of ${name}`}>
      <div class="ramp-ends">
        <span>≤ {formatValue(-limit, 3)}</span>
        <span class="middle">{name}</span>
        <span>
          {fixed !== null && <b>fixed </b>}≥ {formatValue(limit, 3)}
        </span>
      </div>
      <div class="row">
        <span class="muted fs-1">±</span>
        <LimitField label={`Limit of ${name}`} value={fixed} set={set} />
        <button class="btn sm" aria-label={`Auto limit of ${name}`} disabled={fixed === null && error === ""} onClick={() => set(null)}>
          Auto
        </button>
      </div>
      <Hint text={error} />
    </div>
  );
}
