/** The pass as a tree of modules and ops with edges between the ops: what the tree lists and the canvas draws. */
import type { OpKind, PassDocument } from "../../wire";

export type Form = "unrolled" | "rolled";

/** A small label beside a node: its parameters, a buffer or a tensor from outside that it reads. */
export interface Chip {
  readonly kind: "param" | "buffer" | "source";
  readonly text: string;
  /** The node that the chip stands for, null for parameters. */
  readonly key: string | null;
  /** Whether the op beside it reads it; what only keeps a buffer up to date just stands there. */
  readonly isRead: boolean;
}

/** What is known of a node when it is made; its figures are summed later. */
type Given = Partial<GraphNode> & Pick<GraphNode, "key" | "kind" | "parent" | "scope" | "title" | "label" | "subtitle" | "opKind" | "type" | "order">;

/** A class, since there are many and spreading is slow. */
export class GraphNode {
  /** `o12`: the op with that index, `s5`: the module call with that index, `s5.1`: a stretch of its children. */
  readonly key!: string;
  readonly kind!: "op" | "group";
  parent!: string | null;
  /** Where this is no box of its own but a chip: the box that shows it. */
  readonly host: string | null = null;
  /** Indices of its ops: one, or one for each pass in the rolled form. Empty for a group. */
  readonly ops: readonly number[] = [];
  /** The calls it stands for: the modules of a group, or of an op that is all its module holds. */
  readonly scopes: readonly number[] = [];
  /** The innermost call around it, or the group's first own call; -1 for none. */
  readonly scope!: number;
  readonly title!: string;
  /** What its box says: the title or, of an op without a module of its own, the label that every call finds it by. */
  readonly label!: string;
  readonly subtitle!: string;
  /** `× 6` where one box stands for several passes, else empty. */
  readonly times: string = "";
  /** What was done to its tensor: `in place`, `edited`. */
  readonly marks: readonly string[] = [];
  /** Class or function of a group or of a module with one op, else empty. */
  readonly className: string = "";
  readonly opKind!: OpKind | "group";
  readonly type!: string;
  /** Index of its first op: the order of siblings. */
  readonly order!: number;
  children: string[] = [];
  depth = 0;
  chips: Chip[] = [];
  numOps = 0;
  seconds = 0;
  backwardSeconds: number | null = null;
  numBytes = 0;
  flops: number | null = null;
  numParams = 0;
  hasGradient = false;
  isFailed = false;

  constructor(given: Given) {
    Object.assign(this, given);
  }
}

/** One tensor of one pass that an op was given. */
export interface Use {
  /** Indices of the op that made it and of the op that reads it. */
  readonly from: number;
  readonly to: number;
  /** As what, where the order of the arguments matters; else empty. */
  readonly name: string;
}

/** What one op node gives to another, or decides about it. */
export interface GraphEdge {
  /** A condition carries no tensor: it says which way was taken. */
  readonly kind: "data" | "condition";
  readonly from: string;
  readonly to: string;
  /** Index of the op that made the tensor; of the first pass in the rolled form. */
  readonly op: number;
  /** Of the first and the last pass where they differ: `4×4 … 10×4`. */
  readonly shape: string;
  readonly numBytes: number;
  /** Each tensor that runs here; none of a condition. */
  readonly uses: readonly Use[];
  /** Which argument of its reader it is, from 0 on, where their order matters; else -1. */
  readonly slot: number;
  /** Of a condition: `if True`. */
  readonly condition: string;
}

export interface Hierarchy {
  readonly form: Form;
  readonly document: PassDocument;
  readonly root: string;
  readonly nodes: ReadonlyMap<string, GraphNode>;
  readonly nodeOfOp: readonly string[];
  /** The node of each scope, by its index: a group, or the op that is all it holds. Null where it holds nothing. */
  readonly nodeOfScope: readonly (string | null)[];
  /** Those that carry tensors, then the conditions. */
  readonly edges: readonly GraphEdge[];
  /** Indices of the edges with tensors that leave and that reach an op node. */
  readonly leaving: ReadonlyMap<string, readonly number[]>;
  readonly reaching: ReadonlyMap<string, readonly number[]>;
}
