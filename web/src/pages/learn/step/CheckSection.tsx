/** The whole gradient, asked of others: torch's autograd, and differences of the loss. */
import { isConnected } from "../../../data/connection";
import { Icon } from "../../../ui/Icon";
import type { BackwardStep, Cells, LearnCheck } from "../../../wire";
import { checkText, elementName, errorText, numbersOf, sizeOf, toleranceText } from "../cells";
import { tryChecksAgain } from "../lessons";
import * as store from "../store";

export function CheckSection({ step }: { step: BackwardStep }) {
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
          <Row name="torch" check={check} theirs={check?.torch} largest={check?.torch_error} tolerance={check?.tolerance} ours={ours} nth={nth} />
          <Row
            name="finite difference"
            check={check}
            theirs={check?.difference}
            largest={check?.difference_error}
            tolerance={check?.difference_tolerance}
            ours={ours}
            nth={nth}
          />
        </tbody>
      </table>
      {rest > 0 && <p class="muted fs-1">Of the whole gradient, with all {step.num_all} contributions.</p>}
      {check !== null && check.note !== "" && <p class="muted fs-1">{check.note.charAt(0).toUpperCase() + check.note.slice(1)}</p>}
      <Trouble />
    </div>
  );
}

interface RowProps {
  name: string;
  /** Where there is none yet, nothing else is known. */
  check: LearnCheck | null;
  theirs: Cells | null | undefined;
  largest: number | null | undefined;
  tolerance: number | undefined;
  ours: Cells;
  nth: number;
}

function Row({ name, check, theirs = null, largest = null, tolerance = 0, ours, nth }: RowProps) {
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
  const error = theirs === null ? NaN : Math.abs((numbersOf(theirs)[nth] ?? NaN) - (numbersOf(ours)[nth] ?? NaN));
  const isNear = largest !== null && largest <= tolerance;
  return (
    <tr>
      <td>{name}</td>
      <td class="num">{theirs === null ? "–" : textAt(theirs, nth)}</td>
      <td class="num">{Number.isNaN(error) ? "–" : errorText(error)}</td>
      <td class="num">{largest === null ? "–" : errorText(largest)}</td>
      <td class="num">
        {largest !== null && (
          <span class={isNear ? "verdict right" : "verdict wrong"}>
            <Icon name={isNear ? "check" : "close"} />
            {isNear ? "within" : "over"} {toleranceText(tolerance)}
          </span>
        )}
      </td>
    </tr>
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
