/** On the line of the step: what goes along it, and which way. */
import { edgesAt } from "../steps";
import * as store from "../store";
import type { GraphLayout } from "./layout";
import type { Point, Route } from "./lines";

/** As in learn.css. */
const WIDTH = 86;
const HEIGHT = 18;

export function Chip({ layout }: { layout: GraphLayout }) {
  const [direction, step] = [store.direction.value, store.step.value];
  const now = edgesAt(store.lesson.value!, direction, step);
  const edge = layout.edges.find(({ key }) => now.has(key));
  if (direction === "forward" || edge === undefined) return null;
  const { start, end, side } = edge.route;
  const at = side === "down" ? besideArrow(edge.route) : { x: (start.x + end.x) / 2 - WIDTH / 2, y: (start.y + end.y) / 2 - HEIGHT / 2 };
  const arrow = side === "down" ? "↑" : side === "left" ? "→" : "←";
  return (
    <span class="learn-chip" style={{ left: `${at.x}px`, top: `${at.y}px` }} aria-hidden="true">
      gradient {arrow}
    </span>
  );
}

/** Clear of the line, which goes to the other side, and between the cards where they are near. */
function besideArrow({ start, end }: Route): Point {
  const gap = end.y - start.y;
  return {
    x: start.x + (end.x > start.x + 8 ? -WIDTH - 18 : 18),
    y: start.y + (gap < 2 * HEIGHT ? (gap - HEIGHT) / 2 : 8),
  };
}
