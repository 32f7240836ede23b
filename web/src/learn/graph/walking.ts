/** Where the arrow keys lead from a card: along the edges, or to a neighbour. */
import type { LearnNode } from "../../wire";
import type { GraphLayout } from "./layout";

export type ArrowKey = "ArrowUp" | "ArrowDown" | "ArrowLeft" | "ArrowRight";

export function isArrow(key: string): key is ArrowKey {
  return /^Arrow(Up|Down|Left|Right)$/.test(key);
}

/** Null where there is nothing that way. */
export function walked(nodes: readonly LearnNode[], layout: GraphLayout, from: number, key: ArrowKey): number | null {
  const middle = (id: number): number => layout.boxes[id]!.x + layout.boxes[id]!.width / 2;
  const near = (ids: readonly number[]): number | null =>
    ids.length === 0
      ? null
      : ids.reduce((one, other) => (Math.abs(middle(other) - middle(from)) < Math.abs(middle(one) - middle(from)) ? other : one));
  if (key === "ArrowUp") return near(nodes[from]?.parents ?? []);
  if (key === "ArrowDown") return near(nodes.filter(({ parents }) => parents.includes(from)).map(({ id }) => id));
  const sign = key === "ArrowRight" ? 1 : -1;
  const beside = nodes.filter(
    ({ id }) => layout.ranks[id] === layout.ranks[from] && sign * (middle(id) - middle(from)) > 0,
  );
  return near(beside.map(({ id }) => id));
}
