/** All about one module: its calls, its cost, what goes in and out, and the ops in it. */
import { opsInside } from "../../../data/pass/edges";
import { formatBytes, formatCount, formatLarge, formatNumberOf, formatSeconds, formatShape } from "../../../data/format";
import type { GraphNode, Hierarchy } from "../../../data/pass/model";
import * as store from "../../../data/store";
import { type Fact, Facts, Head, Links, Section } from "../../../plot/tensor/Facts";
import type { PassDocument, ScopeEntry } from "../../../wire";
import { placeOf } from "../modules/ModulesPanel";
import { OpLink, ScopeLink, SourceLines } from "./OpFacts";

export function ModuleView({ node, hierarchy }: { node: GraphNode; hierarchy: Hierarchy }) {
  const { document } = hierarchy;
  const scope = document.scopes[node.scopes[0] ?? node.scope];
  const inside = opsInside(hierarchy, node.key);
  const lines = (indices: readonly number[]) => <Links items={indices.map((index) => <OpLine document={document} index={index} />)} />;
  const isOpen = node.key === hierarchy.root || store.openGroups.value.has(node.key);
  return (
    <>
      <Head title={placeOf(node, document)}>
        {scope?.name ?? "part"} · {formatNumberOf(node.numOps, "op")}
      </Head>
      {node.key !== hierarchy.root && (
        <div class="pad-s">
          <button class="btn sm" aria-expanded={isOpen} onClick={() => store.toggle(node.key)}>
            {isOpen ? "Close" : "Open"} <kbd>e</kbd>
          </button>
        </div>
      )}
      <div class="panel-body">
        <Section title="Module">
          <Facts facts={moduleFacts(node, document, scope)} />
        </Section>
        {scope !== undefined && (
          <Section title="Inputs and outputs">
            <Facts facts={[["inputs", lines(inputsOf(document, inside))], ["outputs", lines(scope.outputs)]]} />
          </Section>
        )}
        {scope !== undefined && <SourceLines document={document} source={scope.source} stack={[]} />}
        <Section title="Ops" remark={formatCount(inside.length)}>
          {lines(inside)}
        </Section>
      </div>
    </>
  );
}

function moduleFacts(
  node: GraphNode,
  document: PassDocument,
  scope: ScopeEntry | undefined,
): (Fact | false)[] {
  if (scope === undefined) return [["ops", formatCount(node.numOps)]];
  const others = document.scopes
    .map((other, at) => ({ other, at }))
    .filter(({ other }) => scope.address !== null && other.address === scope.address);
  return [
    ["class", <span class="mono">{scope.name}</span>],
    scope.address !== null && [
      "address",
      <span class="mono">{scope.address === "" ? "(the model)" : scope.address}</span>,
    ],
    scope.address === null && ["kind", "a torch function, opened up"],
    scope.parent >= 0 && ["inside", <ScopeLink index={scope.parent} />],
    ["calls", formatCount(scope.num_passes)],
    others.length > 1 &&
      node.scopes.length === 1 && [
        "this call",
        <Links
          items={others.map(({ other, at }) => (
            <ScopeLink index={at} text={`${other.pass_num}${other === scope ? " (this)" : ""}`} />
          ))}
        />,
      ],
    ["parameters", formatLarge(scope.num_params)],
    ["forward time", formatSeconds(node.seconds)],
    node.backwardSeconds !== null && ["backward time", formatSeconds(node.backwardSeconds)],
    node.flops !== null && ["FLOPs", formatLarge(node.flops)],
    ["memory of outputs", formatBytes(node.numBytes)],
  ];
}

function OpLine({ document, index }: { document: PassDocument; index: number }) {
  const op = document.ops[index];
  return (
    <span class="op-line">
      <OpLink index={index} /> <span class="muted">{op === undefined ? "" : formatShape(op.shape)}</span>
    </span>
  );
}

// --- What is inside a module, and what reaches it from outside.

/** Indices of the ops outside whose outputs are read inside. Buffers are the module's own. */
export function inputsOf(document: PassDocument, inside: readonly number[]): number[] {
  const within = new Set(inside);
  const { ops } = document;
  const found = inside.flatMap((index) => {
    const fromOutside = ops[index]!.parents.map(([from]) => from).filter((from) => !within.has(from) && ops[from]?.kind !== "buffer");
    return ops[index]!.kind === "input" ? [index, ...fromOutside] : fromOutside;
  });
  return [...new Set(found)].sort((a, b) => a - b);
}
