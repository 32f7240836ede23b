/** Which tensors there are to look at for an op: its output, its inputs, its weights, their gradients. */
import type { TensorAnswer } from "../../data/source";
import type { PassDocument, TensorKind, Window } from "../../wire";

export interface Subject {
  readonly kind: TensorKind;
  readonly index: number;
  /** How it is told from the others of its tab. */
  readonly name: string;
  readonly shape: readonly number[];
  readonly isThere: boolean;
}

/** A tensor from elsewhere, which knows how to be asked for: of a run. */
export interface AskableTensor {
  readonly key: string;
  readonly ask: (window: Window | null) => Promise<TensorAnswer>;
}

export type AnyTensor = Subject | AskableTensor;

export type TabName = "Output" | "Input" | "Weight" | "Gradient";

export interface Tab {
  readonly name: TabName;
  readonly subjects: readonly Subject[];
}

/** The tabs of an op, only those that have something. */
export function tabsOf(document: PassDocument, index: number): Tab[] {
  const op = document.ops[index];
  if (op === undefined) return [];
  const tabs: Tab[] = [
    { name: "Output", subjects: [outputOf(document, index, op.label)] },
    {
      name: "Input",
      subjects: op.parents.map(([from, argument]) =>
        outputOf(document, from, `${argument}: ${document.ops[from]?.label ?? ""}`),
      ),
    },
    { name: "Weight", subjects: op.params.map((param) => weightOf(document, param)) },
    { name: "Gradient", subjects: gradientsOf(document, index) },
  ];
  return tabs.filter(({ subjects }) => subjects.length > 0);
}

function outputOf(document: PassDocument, index: number, name: string): Subject {
  const op = document.ops[index];
  return { kind: "output", index, name, shape: op?.shape ?? [], isThere: op?.has_value ?? false };
}

function weightOf(document: PassDocument, index: number): Subject {
  const { address, shape, has_value: isThere } = document.params[index]!;
  return { kind: "param", index, name: address, shape, isThere };
}

function gradientsOf(document: PassDocument, index: number): Subject[] {
  const { label, shape, has_grad: hasGrad, params } = document.ops[index]!;
  const own: Subject = { kind: "grad", index, name: `of ${label}`, shape, isThere: true };
  const ofParams = params.filter((at) => document.params[at]?.has_grad === true).map((at): Subject => {
    const param = document.params[at]!;
    return { kind: "param_grad", index: at, name: `of ${param.address}`, shape: param.shape, isThere: true };
  });
  return hasGrad ? [own, ...ofParams] : ofParams;
}

/** Why a tensor that a pass could have had is not there, and what to do. */
export function whyNotSaved(
  document: PassDocument,
  { kind, index }: Pick<Subject, "kind" | "index">,
  isOfRun: boolean,
): string {
  if (document.is_shape_only)
    return "Shapes only: the pass ran on meta or fake tensors, which have no values.";
  if (isOfRun)
    return "A run keeps the figures of each op, not its values: run.log_tensor keeps one, history.save the whole pass.";
  if (kind === "param")
    return "A saved pass has the shapes of parameters, not their values: history.to_html keeps both.";
  if (kind !== "output")
    return "Capture with save_gradients=True, then backward() or history.log_backward(loss).";
  const label = document.ops[index]?.label ?? "";
  return `Capture with layers_to_save="all", or with "${label}" among layers_to_save.`;
}
