/** The lines of the graph, under its cards, and what goes along one of them now. */
import type { Rect } from "../../graph/scene";
import { doneEdges, edgesAt } from "../steps";
import * as store from "../store";
import type { EdgePath, GraphLayout } from "./layout";
import type { Point, Route } from "./lines";

const ARROW = 6;

export function EdgeLayer({ layout }: { layout: GraphLayout }) {
  const lesson = store.lesson.value!;
  const [direction, step] = [store.direction.value, store.step.value];
  const now = edgesAt(lesson, direction, step);
  const done = doneEdges(lesson, direction, step);
  const { x, y, width, height } = layout.bounds;
  const current = layout.edges.filter(({ key }) => now.has(key));
  return (
    <svg
      class="learn-edges"
      style={{ left: `${x}px`, top: `${y}px` }}
      width={width}
      height={height}
      viewBox={`${x} ${y} ${width} ${height}`}
      aria-hidden="true"
    >
      {lesson.nodes.map(({ id, kind }) => kind !== "op" && <LeafOutline key={id} box={layout.boxes[id]!} />)}
      {layout.edges.map(({ key, route }) => (
        <path key={key} class={now.has(key) ? "edge now" : done.has(key) ? "edge done" : "edge"} d={route.path} />
      ))}
      {current.map((edge) => (
        <Arrow key={edge.key} edge={edge} isBackward={direction === "backward"} />
      ))}
    </svg>
  );
}

/** Inputs are dashed, more evenly than a border would be. */
function LeafOutline({ box: { x, y, width, height } }: { box: Rect }) {
  return <rect class="leaf" x={x + 0.5} y={y + 0.5} width={width - 1} height={height - 1} rx={6} />;
}

/** At the end to which something goes: up to the input on the way back, down to the op on the way forward. */
function Arrow({ edge: { route }, isBackward }: { edge: EdgePath; isBackward: boolean }) {
  const [tip, dx, dy] = arrowOf(route, isBackward);
  const back = { x: tip.x - dx * ARROW * 1.4, y: tip.y - dy * ARROW * 1.4 };
  const [one, other] = [
    { x: back.x - dy * ARROW, y: back.y + dx * ARROW },
    { x: back.x + dy * ARROW, y: back.y - dx * ARROW },
  ];
  return <path class="arrow" d={`M${tip.x} ${tip.y}L${one.x} ${one.y}L${other.x} ${other.y}Z`} />;
}

function arrowOf({ start, end, side }: Route, isBackward: boolean): readonly [Point, number, number] {
  const [dx, dy] = side === "down" ? [0, 1] : [side === "left" ? -1 : 1, 0];
  return isBackward ? [start, -dx, -dy] : [end, dx, dy];
}
