/** Local times upstream: the factors and what they make, laid out as a product. */
import type { ComponentChildren } from "preact";
import type { BackwardStep, Cells } from "../../wire";
import { elementFor, workingOf, type Part } from "../arithmetic";
import { inkOf } from "../colouring";
import * as store from "../store";
import { ContributionLine } from "./ContributionLine";
import { FanNote } from "./FanNote";
import { GuessBox } from "./GuessBox";
import { NumberTable } from "./NumberTable";
import { SumNotes } from "./SumNotes";

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
  const factor = (part: "left" | "right" | "upstream", cells: Cells, label: string) => (
    <NumberTable
      cells={cells}
      ink={part === "upstream" ? "gradient" : inkOf(step, cells)}
      label={label}
      marked={working[part]}
      onHover={point(part)}
    />
  );
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
        <Factors step={step} factor={factor} upstreamLabel={`upstream ∂L/∂${from.name}`} />
        {isSummed && (
          <Row sign="=">
            <NumberTable cells={step.raw} ink="gradient" label="before the sum" marked={working.raw} isSecret={isSecret} onHover={point("raw")} />
          </Row>
        )}
        {step.form === "seed" ? result : <Row sign={isSummed ? "Σ" : "="}>{result}</Row>}
      </div>
      <SumNotes step={step} />
      {isSecret ? <GuessBox key={store.step.value} step={step} /> : <ContributionLine working={working} step={step} nth={nth} />}
      {!isSecret && <FanNote step={step} nth={nth} />}
    </div>
  );
}

function headOf({ form, rule }: BackwardStep): string {
  return (form === "moved" ? MOVED_HEADS[rule] : undefined) ?? HEADS[form];
}

interface FactorsProps {
  step: BackwardStep;
  factor: (part: "left" | "right" | "upstream", cells: Cells, label: string) => ComponentChildren;
  upstreamLabel: string;
}

function Factors({ step, factor, upstreamLabel }: FactorsProps) {
  const label = (text: string): string => text.replace(/^upstream/, upstreamLabel);
  if (step.form === "seed") return null;
  if (step.left === null || step.right === null) {
    const only = step.left ?? step.right;
    if (only !== null) return <Row sign="">{factor(step.left === null ? "right" : "left", only, label(step.left_label || step.right_label))}</Row>;
    return <Row sign="">{factor("upstream", step.upstream, upstreamLabel)}</Row>;
  }
  return (
    <>
      {factor("left", step.left, label(step.left_label))}
      <Row sign={step.form === "matrix" ? "·" : "×"}>{factor("right", step.right, label(step.right_label))}</Row>
    </>
  );
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
