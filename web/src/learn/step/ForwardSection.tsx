/** A step of the way forward: the line of the op, what goes into it, what comes out, and one element written out. */
import type { LearnNode } from "../../wire";
import { elementName } from "../cells";
import { forwardOf, resultFor, type Worked } from "../forwarding";
import { factorText } from "../numbers";
import * as store from "../store";
import { ElementLine } from "./ElementLine";
import { NumberTable } from "./NumberTable";
import { Terms } from "./Terms";

export function ForwardSection({ node }: { node: LearnNode }) {
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
