/** The right panel: the rule of the step, its numbers, what others say of them, and the colours. */
import { FormulaView } from "../formula/FormulaView";
import { HideButton } from "../HideButton";
import { written } from "../steps";
import * as store from "../store";
import { CheckSection } from "./CheckSection";
import { ColourSection } from "./ColourSection";
import { ForwardSection } from "./ForwardSection";
import { JacobianSection } from "./JacobianSection";
import { NodeSection } from "./NodeSection";
import { ProductSection } from "./ProductSection";

export function StepPanel() {
  const node = store.currentNode.value;
  return (
    <aside class="panel" aria-label="Current step">
      <div class="panel-head ruled">
        <h2 class="step-title">{store.count.value === 0 ? "Step" : `Step ${store.step.value}`}</h2>
        <Through />
        <span class="grow" />
        <HideButton side="right" />
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
