/** The keys of the drawing, while it has the focus. */
import * as store from "../store";
import { centred } from "./camera";
import { shownAs } from "./edges";
import { fit, glideTo, zoomBy } from "./motion";
import { endOp, neighbour, type Direction } from "./navigation";
import { scene, shownEdges, viewSize } from "./viewstate";

const ARROWS: Record<string, Direction> = {
  ArrowUp: "up",
  ArrowDown: "down",
  ArrowLeft: "left",
  ArrowRight: "right",
};

const ACTIONS: Record<string, () => void> = {
  "0": () => fit(),
  "+": () => zoomBy(1.25),
  "=": () => zoomBy(1.25),
  "-": () => zoomBy(0.8),
  "−": () => zoomBy(0.8),
  Home: () => goToEnd("first"),
  End: () => goToEnd("last"),
  Enter: enter,
};

export function handleKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const arrow = ARROWS[event.key];
  const action = arrow === undefined ? ACTIONS[event.key] : () => step(arrow);
  if (action === undefined) return;
  event.preventDefault();
  action();
}

function step(direction: Direction): void {
  const [tree, all] = [store.hierarchy.peek(), scene.peek()];
  if (tree === null || all === null) return;
  const key = store.selected.peek();
  if (key === null || !tree.nodes.has(key)) {
    goToEnd(direction === "up" ? "last" : "first");
    return;
  }
  // Backward, the way down the picture is the way against the gradient: the picture stays as it is.
  const shown = shownAs(tree, key, store.openGroups.peek());
  const next = neighbour(direction, shown, all, tree, shownEdges.peek());
  if (next !== null) store.goTo(next);
}

/** The first or last op; where it is inside a closed group, that group. */
function goToEnd(end: "first" | "last"): void {
  const tree = store.hierarchy.peek();
  const key = tree === null ? null : endOp(tree, end);
  if (tree !== null && key !== null) store.goTo(shownAs(tree, key, store.openGroups.peek()));
}

/** Open a closed group and go on with it; look at an op at full size. */
function enter(): void {
  const [tree, key] = [store.hierarchy.peek(), store.selected.peek()];
  if (tree === null || key === null) return;
  const node = tree.nodes.get(key);
  if (node?.kind === "group") {
    store.toggle(key);
    store.reveal.value = { key };
    return;
  }
  const box = scene.peek()?.boxes.get(shownAs(tree, key, store.openGroups.peek()));
  if (box !== undefined) glideTo(centred(box, viewSize.peek(), 1));
}
