/** A value that was chosen in the graph: its numbers, and what has arrived there so far. */
import { formatShape } from "../../format";
import { Icon } from "../../shell/Icon";
import { hasValue, written } from "../steps";
import * as store from "../store";
import { NumberTable } from "./NumberTable";

export function NodeSection() {
  const id = store.lookedAt.value;
  const node = id === null ? undefined : store.lesson.value?.nodes[id];
  if (node === undefined) return null;
  const isMade = hasValue(store.lesson.value!, store.direction.value, store.step.value, node.id);
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
        {isMade ? <NumberTable cells={node.value} ink="value" label="value" /> : <p class="muted fs-1">Its value is not computed yet.</p>}
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
