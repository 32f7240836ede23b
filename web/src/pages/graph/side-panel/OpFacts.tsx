/** Everything else that is known of an op, and links to the ops around it. */
import { groupBy, obtain } from "../../../data/collections";
import { formatBytes, formatCount, formatLarge, formatSeconds, formatShape } from "../../../data/format";
import type { GraphNode, Hierarchy } from "../../../data/pass/model";
import { type Fact, Facts, Links, Section } from "../../../plot/tensor/Facts";
import type { BranchEntry, OpEntry, PassDocument } from "../../../wire";
import { OpLink, OpLinks, ScopeLink } from "./OpLink";

interface Props {
  document: PassDocument;
  hierarchy: Hierarchy;
  node: GraphNode;
  index: number;
}

export function OpFacts({ document, hierarchy, index }: Props) {
  const op = document.ops[index]!;
  return (
    <>
      <Section title="Metadata">
        <Facts facts={[...tensorFacts(op), ...costFacts(op), ...callFacts(document, op)]} />
      </Section>
      <Section title="Around it">
        <Facts facts={linkFacts(document, hierarchy, index)} />
      </Section>
    </>
  );
}

function tensorFacts(op: OpEntry): (Fact | false)[] {
  return [
    op.name !== "" && ["name", op.name],
    ["shape", formatShape(op.shape)],
    ["dtype", op.dtype],
    ["memory", formatBytes(op.num_bytes)],
    ["requires grad", op.requires_grad ? "yes" : "no"],
    op.grad_fn !== "" && ["grad_fn", <span class="mono">{op.grad_fn}</span>],
    op.is_inplace && ["in place", "yes: it wrote into its input"],
    op.is_edited && ["edited", "yes: its value was replaced"],
  ];
}

function costFacts(op: OpEntry): (Fact | false)[] {
  return [
    op.kind === "op" && ["forward time", formatSeconds(op.seconds)],
    op.backward_seconds !== null && ["backward time", formatSeconds(op.backward_seconds)],
    op.flops !== null && ["FLOPs", formatLarge(op.flops)],
  ];
}

function callFacts(document: PassDocument, op: OpEntry): (Fact | false)[] {
  const params = op.params.map((at) => document.params[at]).filter((param) => param !== undefined);
  return [
    op.arguments !== "" && ["arguments", <code class="wrap">{op.arguments}</code>],
    params.length > 0 && [
      "parameters",
      <Links
        items={params.map((param) => (
          <span class="mono" title={param.address}>
            {param.address} {formatShape(param.shape)}
          </span>
        ))}
      />,
    ],
  ];
}

function linkFacts(document: PassDocument, hierarchy: Hierarchy, index: number): (Fact | false)[] {
  const op = document.ops[index]!;
  const children = childrenOf(document, index);
  const passes = passesOf(document, index);
  const asking = branchesAsking(document, index);
  const before = branchesBefore(document, index);
  return [
    ["module", <ScopeLink index={op.scope} />],
    op.parents.length > 0 && [
      "parents",
      <Links items={op.parents.map(([from, argument]) => parentLink(op, from, argument))} />,
    ],
    children.length > 0 && ["children", <OpLinks indices={children} />],
    op.num_passes > 1 && ["pass", `${formatCount(op.pass_num)} of ${formatCount(op.num_passes)}`],
    passes.length > 1 &&
      hierarchy.form === "unrolled" && [
        "other passes",
        <OpLinks indices={passes.filter((at) => at !== index)} />,
      ],
    asking.length > 0 && ["Python asked", <Branches all={asking} />],
    before.length > 0 && ["ran after", <Branches all={before} />],
  ];
}

function parentLink(op: OpEntry, from: number, argument: string) {
  return (
    <>
      {op.argument_order_matters && <span class="muted">{argument}: </span>}
      <OpLink index={from} />
    </>
  );
}

function Branches({ all }: { all: readonly BranchEntry[] }) {
  const items = all.map(({ statement, value, taken }) => (
    <span>
      <code class="wrap">{statement}</code>
      <span class="muted">
        {" "}
        was {value}
        {taken !== "" && taken !== value && `, took ${taken}`}
      </span>
    </span>
  ));
  return <Links items={items} />;
}

// --- Who reads an op's output, and which branches asked for its value. Found once for each document.

interface Relations {
  readonly children: readonly (readonly number[])[];
  readonly passes: ReadonlyMap<number, readonly number[]>;
}

const known = new WeakMap<PassDocument, Relations>();

function relationsOf(document: PassDocument): Relations {
  return obtain(known, document, () => findRelations(document));
}

function findRelations(document: PassDocument): Relations {
  const children: number[][] = document.ops.map(() => []);
  for (const [index, op] of document.ops.entries()) {
    for (const [parent] of op.parents) {
      const list = children[parent];
      if (list !== undefined && list.at(-1) !== index) list.push(index);
    }
  }
  return { children, passes: groupBy(document.ops.keys(), (index) => document.ops[index]!.layer) };
}

/** Indices of the ops that were given this one's output. */
export function childrenOf(document: PassDocument, index: number): readonly number[] {
  return relationsOf(document).children[index] ?? [];
}

/** Indices of all passes of an op's layer, itself among them. */
export function passesOf(document: PassDocument, index: number): readonly number[] {
  const layer = document.ops[index]?.layer;
  return layer === undefined ? [] : (relationsOf(document).passes.get(layer) ?? []);
}

/** Where Python asked for the value of this op's output. */
export function branchesAsking(document: PassDocument, index: number): BranchEntry[] {
  return document.branches.filter((branch) => branch.op === index);
}

/** The branches after which this op ran. */
export function branchesBefore(document: PassDocument, index: number): BranchEntry[] {
  return document.branches.filter((branch) => branch.followed_by.includes(index));
}
