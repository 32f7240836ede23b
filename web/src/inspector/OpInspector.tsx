/** All about one op: its tensors, the line that made it, and what is known of it. */
import { useState } from "preact/hooks";
import { formatCount } from "../format";
import type { GraphNode, Hierarchy } from "../graph/model";
import { placeOf } from "../modules/places";
import * as store from "../store";
import type { PassDocument } from "../wire";
import { Head } from "./Head";
import { OpFacts } from "./OpFacts";
import { OverRun } from "./OverRun";
import { PassChooser } from "./PassChooser";
import { SourceLines } from "./SourceLines";
import { TensorTabs } from "./TensorTabs";

interface Props {
  node: GraphNode;
  document: PassDocument;
  hierarchy: Hierarchy;
}

export function OpInspector({ node, document, hierarchy }: Props) {
  const [passAt, setPassAt] = useState(0);
  const index = node.ops[Math.min(passAt, node.ops.length - 1)] ?? 0;
  const op = document.ops[index];
  const step = (by: number): void => setPassAt((now) => Math.max(0, Math.min(now + by, node.ops.length - 1)));
  if (op === undefined) return null;
  const title = placeOf(node, document);
  const what = op.kind === "op" ? op.function : op.kind;
  return (
    <>
      <Head title={title}>
        {what} · op {formatCount(index + 1)} of {formatCount(document.ops.length)}
        {op.label !== title && ` · ${op.label}`}
      </Head>
      <div class="panel-body">
        {node.ops.length > 1 && <PassChooser count={node.ops.length} at={passAt} onStep={step} />}
        <TensorTabs key={`${store.passId.value ?? ""} ${index}`} document={document} index={index} />
        <OverRun document={document} index={index} />
        <SourceLines document={document} source={op.source} stack={op.stack} />
        <OpFacts document={document} hierarchy={hierarchy} node={node} index={index} />
      </div>
    </>
  );
}
