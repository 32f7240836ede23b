/** The pass as a tree of modules and ops with edges between the ops: what the tree lists and the canvas draws. */
import type { OpKind, PassDocument } from "../wire";
import { TreeBuilder } from "./treebuilder";

export type Form = "unrolled" | "rolled";

/** A small label beside a node: its parameters, a buffer or a tensor from outside that it reads. */
export interface Chip {
  readonly kind: "param" | "buffer" | "source";
  readonly text: string;
  /** The node that the chip stands for, null for parameters. */
  readonly key: string | null;
}

export interface GraphNode {
  /** `o12`: the op with that index, `s5`: the module call with that index, `s5.1`: a stretch of its children. */
  readonly key: string;
  readonly kind: "op" | "group";
  parent: string | null;
  /** Where this is no box of its own but a chip: the box that shows it. */
  readonly host: string | null;
  /** Indices of its ops: one, or one for each pass in the rolled form. Empty for a group. */
  readonly ops: readonly number[];
  /** The calls it stands for: the modules of a group, or of an op that is all its module holds. */
  readonly scopes: readonly number[];
  /** The innermost call around it, or the group's first own call; -1 for none. */
  readonly scope: number;
  readonly title: string;
  readonly subtitle: string;
  /** Class or function of a group or of a module with one op, else empty. */
  readonly className: string;
  readonly opKind: OpKind | "group";
  readonly type: string;
  /** Index of its first op: the order of siblings. */
  readonly order: number;
  children: string[];
  depth: number;
  chips: Chip[];
  numOps: number;
  seconds: number;
  backwardSeconds: number | null;
  numBytes: number;
  flops: number | null;
  numParams: number;
  hasGradient: boolean;
  isFailed: boolean;
}

/** What one op node gives to another. */
export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  /** As the reader was called: `0`, `mask`, or `0, 1` where it took the same tensor twice. */
  readonly argument: string;
  /** Index of the op that made the tensor. */
  readonly op: number;
  readonly shape: string;
  readonly numBytes: number;
  /** Against the order of the ops: the feedback of a loop in the rolled form. */
  readonly isBack: boolean;
}

export interface Hierarchy {
  readonly form: Form;
  readonly root: string;
  readonly nodes: ReadonlyMap<string, GraphNode>;
  /** The node of each op, by its index. */
  readonly nodeOfOp: readonly string[];
  /** The node of each scope, by its index: a group, or the op that is all it holds. Null where it holds nothing. */
  readonly nodeOfScope: readonly (string | null)[];
  readonly edges: readonly GraphEdge[];
  /** Indices of the edges that leave and that reach an op node. */
  readonly leaving: ReadonlyMap<string, readonly number[]>;
  readonly reaching: ReadonlyMap<string, readonly number[]>;
  readonly numOps: number;
}

/** Build the tree of a pass: every op by itself, or one node for all passes of a layer. */
export function buildHierarchy(document: PassDocument, form: Form): Hierarchy {
  return new TreeBuilder(document, form).build();
}
