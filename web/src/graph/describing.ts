/** The drawing and its selection in words, for those who do not see it. */
import { computed } from "@preact/signals";
import { formatCount, formatNumberOf, formatShape } from "../format";
import * as store from "../store";
import { highlight } from "./viewstate";

/** What the canvas is. */
export const drawing = computed(() => {
  const pass = store.document.value;
  if (pass === null) return "Graph";
  const ops = formatNumberOf(pass.ops.length, "op");
  return `Computational graph of ${pass.model_name}, ${ops}. Arrow keys follow the edges, Enter opens a module.`;
});

/** What is selected. */
export const selection = computed(() => {
  const [pass, tree, key, lit] = [store.document.value, store.hierarchy.value, store.selected.value, highlight.value];
  const node = key === null ? undefined : tree?.nodes.get(key);
  if (pass === null || node === undefined || lit === null) return "";
  const parts = [node.title, node.subtitle];
  const [op] = node.ops;
  if (node.kind === "group") {
    parts.push(formatNumberOf(node.numOps, "op"), store.openGroups.value.has(node.key) ? "open" : "closed");
  } else if (op !== undefined) {
    parts.push(`op ${formatCount(op + 1)} of ${formatCount(pass.ops.length)}`, formatShape(pass.ops[op]!.shape));
  }
  parts.push(formatNumberOf(lit.up.size, "ancestor"), formatNumberOf(lit.down.size, "descendant"));
  return parts.filter((part) => part !== "").join(", ");
});
