/** Everything else that is known of an op, and links to the ops around it. */
import { obtain } from "../../../data/collections";
import { formatBytes, formatCount, formatLarge, formatNumberOf, formatSeconds, formatShape } from "../../../data/format";
import * as store from "../../../data/store";
import { type Fact, Facts, Links, Section } from "../../../plot/tensor/Facts";
import type { BranchEntry, OpEntry, PassDocument, SourceEntry } from "../../../wire";

export function OpFacts({ document, index }: { document: PassDocument; index: number }) {
  const op = document.ops[index]!;
  return (
    <>
      <Section title="Metadata">
        <Facts facts={metadata(document, op)} />
      </Section>
      <Section title="Around it">
        <Facts facts={linkFacts(document, index)} />
      </Section>
    </>
  );
}

function metadata(document: PassDocument, op: OpEntry): (Fact | false)[] {
  const params = op.params.map((at) => document.params[at]).filter((param) => param !== undefined);
  return [
    op.name !== "" && ["name", op.name],
    ["shape", formatShape(op.shape)],
    ["dtype", op.dtype],
    ["memory", formatBytes(op.num_bytes)],
    ["requires grad", op.requires_grad ? "yes" : "no"],
    op.grad_fn !== "" && ["grad_fn", <span class="mono">{op.grad_fn}</span>],
    op.is_inplace && ["in place", "yes: it wrote into its input"],
    op.is_edited && ["edited", "yes: its value was replaced"],
    op.kind === "op" && ["forward time", formatSeconds(op.seconds)],
    op.backward_seconds !== null && ["backward time", formatSeconds(op.backward_seconds)],
    op.flops !== null && ["FLOPs", formatLarge(op.flops)],
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

function linkFacts(document: PassDocument, index: number): (Fact | false)[] {
  const op = document.ops[index]!;
  const { children, passes, asking, before } = around(document, index);
  return [
    ["module", <ScopeLink index={op.scope} />],
    op.parents.length > 0 && [
      "parents",
      <Links
        items={op.parents.map(([from, argument]) => (
          <>
            {op.argument_order_matters && <span class="muted">{argument}: </span>}
            <OpLink index={from} />
          </>
        ))}
      />,
    ],
    children.length > 0 && ["children", <OpLinks indices={children} />],
    op.num_passes > 1 && ["pass", `${formatCount(op.pass_num)} of ${formatCount(op.num_passes)}`],
    passes.length > 1 &&
      store.form.value === "unrolled" && [
        "other passes",
        <OpLinks indices={passes.filter((at) => at !== index)} />,
      ],
    asking.length > 0 && ["Python asked", <Branches all={asking} />],
    before.length > 0 && ["ran after", <Branches all={before} />],
  ];
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

/** The names of ops and modules, which select them. */
function Link({ name, to }: { name: string; to: string }) {
  return (
    <button
      class="link mono"
      onClick={() => store.goTo(to)}
      onMouseEnter={() => (store.hovered.value = to)}
      onMouseLeave={() => (store.hovered.value = null)}
    >
      {name}
    </button>
  );
}

export function OpLink({ index, text }: { index: number; text?: string | undefined }) {
  const op = store.document.value?.ops[index];
  const key = store.hierarchy.value?.nodeOfOp[index];
  return op === undefined || key === undefined ? null : <Link name={text ?? op.label} to={key} />;
}

export function OpLinks({ indices, textOf }: { indices: readonly number[]; textOf?: (index: number) => string }) {
  return <Links items={indices.map((index) => <OpLink index={index} text={textOf?.(index)} />)} />;
}

export function ScopeLink({ index, text }: { index: number; text?: string }) {
  const scope = store.document.value?.scopes[index];
  const key = store.hierarchy.value?.nodeOfScope[index] ?? null;
  if (scope === undefined) return null;
  const place = scope.address ?? "";
  const name = text ?? (place === "" ? scope.name : place);
  return key === null ? <span class="mono">{name}</span> : <Link name={name} to={key} />;
}

interface Props {
  document: PassDocument;
  source: number;
  stack: readonly number[];
}

/** The line of source that made an op, among its neighbours, and the calls that led to it. */
export function SourceLines({ document, source, stack }: Props) {
  const entry = document.sources[source];
  if (entry === undefined) return null;
  const calls = stack.map((at) => document.sources[at]).filter((call) => call !== undefined);
  return (
    <Section title="Source" remark={<span title={`${entry.file}:${entry.line}`}>{placeText(entry)}</span>}>
      <Lines entry={entry} />
      {calls.length > 1 && (
        <details class="stack-calls">
          <summary>{formatNumberOf(calls.length, "call")} to here, innermost first</summary>
          <ol>
            {calls.map((call, at) => (
              <li key={at} class={call === entry ? "on" : ""}>
                <span class="mono clip" title={`${call.file}:${call.line}`}>
                  {placeText(call)}
                </span>
                <span class="muted clip">{call.function}</span>
                <code class="clip" title={call.text}>
                  {call.text.trim()}
                </code>
              </li>
            ))}
          </ol>
        </details>
      )}
    </Section>
  );
}

function Lines({ entry }: { entry: SourceEntry }) {
  const lines = entry.context.length > 0 ? entry.context : [entry.text];
  const start = entry.context.length > 0 ? entry.context_start : entry.line;
  const width = String(start + lines.length - 1).length;
  return (
    <div class="snippet source" role="group" aria-label={`Line ${entry.line}`} tabIndex={0}>
      {lines.map((line, at) => (
        <div key={at} class={start + at === entry.line ? "on" : ""} aria-current={start + at === entry.line}>
          <span class="line-number">{String(start + at).padStart(width)}</span>
          {line}
        </div>
      ))}
    </div>
  );
}

function placeText({ file, line }: SourceEntry): string {
  return `${file.split(/[\\/]/).slice(-2).join("/")}:${line}`;
}

/** For each op the indices of those that were given its output. Found once for each document. */
const readers = new WeakMap<PassDocument, readonly Set<number>[]>();

function readersIn(document: PassDocument): readonly Set<number>[] {
  return obtain(readers, document, () => {
    const found = document.ops.map(() => new Set<number>());
    for (const [index, op] of document.ops.entries()) for (const [parent] of op.parents) found[parent]?.add(index);
    return found;
  });
}

/** Who reads an op's output, its layer in other passes, and the branches before and after it. */
export function around(document: PassDocument, index: number) {
  const { ops, branches } = document;
  return {
    children: [...readersIn(document)[index]!],
    /** All of its layer, itself among them. */
    passes: [...ops.keys()].filter((at) => ops[at]!.layer === ops[index]!.layer),
    /** Where Python asked for the value of its output, and what was asked before it ran. */
    asking: branches.filter((branch) => branch.op === index),
    before: branches.filter((branch) => branch.followed_by.includes(index)),
  };
}
