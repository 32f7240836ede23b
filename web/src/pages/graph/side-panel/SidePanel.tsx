/** The right panel: the selected op or module or, where nothing is selected, the pass. */
import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useState } from "preact/hooks";
import { formatBytes, formatCount, formatLarge, formatNumberOf, formatSeconds, formatShape } from "../../../data/format";
import { opsInside } from "../../../data/pass/edges";
import type { GraphNode, Hierarchy } from "../../../data/pass/model";
import * as store from "../../../data/store";
import { type Fact, Facts, Head, Links, Section, TensorSkeleton } from "../../../plot/tensor/Facts";
import { ItemStepper } from "../../../plot/tensor/ItemStepper";
import { FIRST } from "../../../plot/tensor/Picture";
import { TensorColumn } from "../../../plot/tensor/TensorColumn";
import { type Subject, type TabName, tabsOf, whyNotSaved } from "../../../plot/tensor/subjects";
import { useItemOf } from "../../../plot/tensor/useTensor";
import { Blank } from "../../../ui/Blank";
import { Select } from "../../../ui/Select";
import { Stepper } from "../../../ui/Stepper";
import { HidePanel } from "../../../ui/PanelPlace";
import { Tabs } from "../../../ui/controls";
import { autoScale, type Scale } from "../../../ui/colour-scale";
import type { PassDocument, ScopeEntry, TensorView } from "../../../wire";
import { backwardSeconds, numCalls, placeOf } from "../modules/ModulesPanel";
import { OpFacts, OpLink, OpLinks, ScopeLink, SourceLines } from "./OpFacts";

export interface OpPlace {
  document: PassDocument;
  index: number;
}

/** `OverRun` shows what an op did over a run; null on a page that knows no runs. */
export interface SidePanelProps {
  OverRun: ComponentType<OpPlace> | null;
}

export function SidePanel({ OverRun }: SidePanelProps) {
  return (
    <aside class="panel inspector" aria-label="Inspector">
      <Selected OverRun={OverRun} />
      <HidePanel side="right" label="Hide inspector" style="hide" />
    </aside>
  );
}

function Selected({ OverRun }: SidePanelProps) {
  const document = store.document.value;
  const hierarchy = store.hierarchy.value;
  const key = store.selected.value;
  const node = hierarchy?.nodes.get(key ?? "");
  if (document === null || hierarchy === null) return <div class="panel-body" />;
  if (node === undefined) return <PassView document={document} />;
  if (node.kind === "op")
    return <OpView key={node.key} node={node} document={document} OverRun={OverRun} />;
  return <ModuleView key={node.key} node={node} hierarchy={hierarchy} />;
}

interface Props extends SidePanelProps {
  node: GraphNode;
  document: PassDocument;
}

/** All about one op: its tensors, the line that made it, and what is known of it. */
function OpView({ node, document, OverRun }: Props) {
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
        {node.ops.length > 1 && (
          <Stepper
            style="pad-s row stepper"
            label="Pass of this layer"
            thing="Pass"
            hasBefore={passAt > 0}
            hasAfter={passAt < node.ops.length - 1}
            step={step}
          >
            <span class="fs-2">
              pass {formatCount(passAt + 1)} of {formatCount(node.ops.length)}
            </span>
          </Stepper>
        )}
        <TensorTabs key={`${store.passId.value ?? ""} ${index}`} document={document} index={index} />
        {OverRun !== null && <OverRun document={document} index={index} />}
        <SourceLines document={document} source={op.source} stack={op.stack} />
        <OpFacts document={document} index={index} />
      </div>
    </>
  );
}

/** Output, input, weight, gradient: which tensor of an op is looked at. */
function TensorTabs({ document, index }: OpPlace) {
  const tabs = tabsOf(document, index);
  const tab = tabs.find(({ name }) => name === tabChosen.value) ?? tabs[0];
  const [chosen, setChosen] = useState<Record<string, number>>({});
  if (tab === undefined) return null;
  const at = Math.min(chosen[tab.name] ?? 0, tab.subjects.length - 1);
  const subject = tab.subjects[at]!;
  return (
    <>
      {tabs.length > 1 && (
        <div class="pad-s tab-bar">
          <Tabs
            label="Tensor"
            style="seg wide"
            panel="tensor-panel"
            words={tabs.map(({ name }) => [name, name] as const)}
            chosen={tab.name}
            choose={(name) => (tabChosen.value = name)}
          />
        </div>
      )}
      <div id="tensor-panel" role="tabpanel" aria-label={tab.name}>
        {tab.subjects.length > 1 && (
          <div class="pad-s">
            <Select
              look="input wide"
              label={`${tab.name} to show`}
              value={String(at)}
              options={tab.subjects.map(({ name, shape }, nth) => [String(nth), `${name} · ${formatShape(shape)}`])}
              set={(nth) => setChosen({ ...chosen, [tab.name]: Number(nth) })}
            />
          </div>
        )}
        <TensorPanel key={`${subject.kind} ${subject.index}`} document={document} subject={subject} />
      </div>
    </>
  );
}

// --- What the inspector remembers from one op to the next: the tab.

export const tabChosen = signal<TabName>("Output");

/** All about one module: its calls, its cost, what goes in and out, and the ops in it. */
function ModuleView({ node, hierarchy }: { node: GraphNode; hierarchy: Hierarchy }) {
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

/** The pass as a whole: how it ended, what there is to note, and its facts. */
function PassView({ document }: { document: PassDocument }) {
  const notes = [...document.notes, ...store.pageNotes.value];
  const numModuleCalls = document.scopes.filter((scope) => scope.address !== null).length;
  const nameOf = (index: number): string => document.ops[index]!.name || document.ops[index]!.label;
  const ends = (kind: "input" | "output"): number[] =>
    document.ops.flatMap((op, index) => (op.kind === kind ? [index] : []));
  return (
    <>
      <Head title={document.model_name}>
        pass · {formatNumberOf(numCalls(document), "op")} · {formatNumberOf(numModuleCalls, "module call")}
      </Head>
      <div class="panel-body">
        {document.error !== "" && <RaisedNotice document={document} />}
        {document.stopped_after !== "" && (
          <Section title="Ended early">
            <p class="fs-2">
              As asked, after <span class="mono">{document.stopped_after}</span>.
            </p>
          </Section>
        )}
        {notes.length > 0 && (
          <Section title="Notes">
            <ul class="notes">
              {notes.map((note, at) => (
                <li key={at}>{note}</li>
              ))}
            </ul>
          </Section>
        )}
        <Section title="Pass">
          <Facts
            facts={[
              ["tensors, with inputs, outputs, buffers", formatCount(document.ops.length)],
              ["parameters", formatLarge(document.num_params)],
              ["their memory", formatBytes(document.param_bytes)],
              [
                "forward time",
                document.is_shape_only ? "shapes only" : formatSeconds(document.elapsed_seconds),
              ],
              document.num_backward_passes > 0 && [
                "backward passes",
                formatCount(document.num_backward_passes),
              ],
              document.num_backward_passes > 0 && ["backward time", formatSeconds(backwardSeconds(document))],
              ["memory of outputs", formatBytes(document.num_bytes)],
              ["random seed", store.seed.value],
            ]}
          />
        </Section>
        <Section title="Inputs and outputs">
          <Facts
            facts={[
              ["inputs", <OpLinks indices={ends("input")} textOf={nameOf} />],
              ["outputs", <OpLinks indices={ends("output")} textOf={nameOf} />],
            ]}
          />
        </Section>
        <p class="section muted fs-2">
          Select a node to see its tensor, its source line and what is known of it. <kbd>?</kbd> shows all
          keys.
        </p>
      </div>
    </>
  );
}

/** A model that raised: where the pass ended, and what it said. */
function RaisedNotice({ document }: { document: PassDocument }) {
  const last = document.ops.length - 1;
  return (
    <section class="section raised" role="alert" aria-label="How the pass ended">
      <b>{raisedWords(last)}</b>
      <p class="fs-2 raised-text">{document.error}</p>
      <p class="muted fs-2">Ops up to there are shown; all of them ran.</p>
      <ToLastOp index={last} />
    </section>
  );
}

export function raisedWords(last: number): string {
  return last < 0 ? "The model raised before its first op" : `The model raised after op ${formatCount(last + 1)}`;
}

export function ToLastOp({ index }: { index: number }) {
  const key = store.hierarchy.value?.nodeOfOp[index];
  if (key === undefined) return null;
  return (
    <button class="btn sm" onClick={() => store.goTo(key)}>
      Go to op {formatCount(index + 1)}, the last that ran
    </button>
  );
}

/** One tensor: picture, histogram, figures and numbers, or why it is not there. */
function TensorPanel({ document, subject }: { document: PassDocument; subject: Subject }) {
  const { whole, item, answer, step } = useItemOf(subject.isThere ? subject : null);
  const [fixed, setFixed] = useState<Scale | null>(null);
  const [start, setStart] = useState(FIRST);
  const canMove = store.source.value?.canMove ?? false;
  if (!subject.isThere) return <NotThere title="Not saved" reason={whyNotSaved(document, subject, isOfRun())} />;
  const onStep = (by: number): void => {
    step(by);
    setStart(FIRST);
  };
  return (
    <>
      {whole !== null && <ItemStepper view={whole.view} item={item} canMove={canMove} onStep={onStep} />}
      {answer === null ? (
        <TensorSkeleton />
      ) : "missing" in answer ? (
        <NotThere title="No values to show" reason={answer.missing} />
      ) : (
        <TensorColumn
          {...{ subject, base: answer, start, canMove }}
          scale={fixed ?? autoScale(whole?.view ?? answer.view)}
          isAuto={fixed === null}
          onScale={setFixed}
          onStart={setStart}
          empty={<NoValues view={answer.view} />}
        />
      )}
    </>
  );
}

function NotThere({ title, reason }: { title: string; reason: string }) {
  return (
    <div class="section tensor-blank">
      <Blank icon="frame" title={title}>
        <span>{reason}</span>
      </Blank>
    </div>
  );
}

/** Figures came, values did not: the tensor is empty, or the file had no room. */
function NoValues({ view }: { view: TensorView }) {
  if (view.num_elements === 0) return <NotThere title="Empty" reason="This tensor has no elements." />;
  return (
    <NotThere
      title="Values not in this file"
      reason="Its byte budget was used up; the figures below are of the whole tensor."
    />
  );
}

/** Is the pass that is shown one that a run was given? */
function isOfRun(): boolean {
  const passes = store.source.value?.passes.value ?? [];
  return passes.some((pass) => pass.id === store.passId.value && pass.run_id !== "");
}
