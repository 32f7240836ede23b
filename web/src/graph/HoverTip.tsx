/** After a moment, the whole name of what is under the pointer, and its tensor. */
import { useEffect, useState } from "preact/hooks";
import { formatBytes, formatNumberOf, formatSeconds, formatShape } from "../format";
import * as store from "../store";
import { SIZES } from "./layoutgraph";
import type { GraphNode } from "./model";
import { toScreen } from "./camera";
import { shapeRange } from "./naming";
import { camera, isPointerOver, scene, viewSize } from "./viewstate";

const DELAY_MS = 400;

export function HoverTip() {
  // The tree and the inspector light boxes up as well: that needs no words here.
  const key = isPointerOver.value ? store.hovered.value : null;
  const [shown, setShown] = useState<string | null>(null);
  useEffect(() => {
    setShown(null);
    if (key === null) return undefined;
    const timer = setTimeout(() => setShown(key), DELAY_MS);
    return () => clearTimeout(timer);
  }, [key]);
  const node = shown === null || shown !== key ? undefined : store.hierarchy.value?.nodes.get(shown);
  const box = node === undefined ? undefined : scene.value?.boxes.get(node.host ?? node.key);
  if (node === undefined || box === undefined) return null;
  const at = toScreen(camera.value, box.x, box.y + (box.isOpen ? SIZES.header : box.height));
  const { width, height } = viewSize.value;
  const left = Math.max(8, Math.min(at.x, width - 268));
  const isBelow = at.y + 76 < height;
  const top = isBelow ? Math.max(8, at.y + 6) : toScreen(camera.value, box.x, box.y).y - 70;
  return (
    <div class="graph-tip" role="tooltip" style={{ left: `${left}px`, top: `${top}px` }}>
      <b class="clip">{fullName(node)}</b>
      {details(node).map((line) => (
        <span key={line} class="clip">
          {line}
        </span>
      ))}
    </div>
  );
}

function fullName(node: GraphNode): string {
  const pass = store.document.value;
  const scope = pass?.scopes[node.scopes.at(-1) ?? -1];
  const [op] = node.ops;
  if (scope?.address != null && scope.address !== "") return scope.address;
  return op === undefined ? node.title : (pass?.ops[op]?.label ?? node.title);
}

function details(node: GraphNode): string[] {
  const [op] = node.ops;
  const entry = op === undefined ? undefined : store.document.value?.ops[op];
  const count = node.kind === "group" ? [formatNumberOf(node.numOps, "op")] : [];
  const first = [node.subtitle, ...count, node.times, ...node.marks].filter((part) => part !== "").join(" · ");
  if (entry === undefined) return [first, formatSeconds(node.seconds)];
  const last = store.document.value?.ops[node.ops.at(-1)!];
  const shape = shapeRange(formatShape(entry.shape), formatShape(last?.shape ?? entry.shape));
  return [first, `${shape} ${entry.dtype} · ${formatBytes(entry.num_bytes)} · ${formatSeconds(node.seconds)}`];
}
