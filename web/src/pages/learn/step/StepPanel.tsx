/** The right panel: the rule of the step, its numbers, what others say of them, and the colours. */
import { useState } from "preact/hooks";
import { isConnected } from "../../../data/connection";
import { formatShape, formatValue } from "../../../data/format";
import { Hint } from "../../../ui/Blank";
import { Icon } from "../../../ui/Icon";
import { HidePanel } from "../../../ui/PanelPlace";
import { stepClass } from "../../../ui/colour-scale";
import { LimitField, Ramp, Segments } from "../../../ui/controls";
import type { BackwardStep, Cells, LearnCheck, LearnNode } from "../../../wire";
import { forwardOf, resultFor, type Worked } from "../arithmetic";
import { cellFormat, checkText, elementName, errorText, factorText, numbersOf, scaleFor, sizeOf, toleranceText } from "../cells";
import { FormulaView } from "../FormulaView";
import { tryChecksAgain } from "../lessons";
import { written } from "../steps";
import * as store from "../store";
import { ElementLine, NumberTable, Terms } from "./NumberTable";
import { ProductSection } from "./ProductSection";

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

/** Why there are no checks, where there should be. */
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
