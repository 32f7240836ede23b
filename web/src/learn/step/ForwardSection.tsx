/** A step of the way forward: what goes into an op, and what comes out. */
import type { LearnNode } from "../../wire";
import * as store from "../store";
import { NumberTable } from "./NumberTable";

export function ForwardSection({ node }: { node: LearnNode }) {
  const nodes = store.lesson.value!.nodes;
  const inputs = [...new Set(node.parents)].map((parent) => nodes[parent]!);
  return (
    <div class="section">
      <h3>What goes in</h3>
      <div class="stack">
        {inputs.map((input) => (
          <NumberTable key={input.id} cells={input.value} ink="value" label={input.name} />
        ))}
        {inputs.length === 0 && <p class="muted fs-1">Only numbers.</p>}
      </div>
      <h3 class="later">What comes out</h3>
      <NumberTable cells={node.value} ink="value" label={node.name} />
    </div>
  );
}
