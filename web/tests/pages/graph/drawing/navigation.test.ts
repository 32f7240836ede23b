import { describe, expect, test } from "vitest";
import { buildHierarchy } from "../../../../src/data/pass/tree-builder";
import { type Direction, endOp, neighbour } from "../../../../src/pages/graph/drawing/highlight";
import { Scene } from "../../../../src/pages/graph/drawing/scene";
import { LayoutDesk, Layouter, type LayoutReply } from "../../../../src/ui/graph-layout/layout";
import { toLayoutGraph } from "../../../../src/ui/graph-layout/layout-graph";
import { pass, residual } from "../../../pass-documents";

function opened(open: string[]): { at: (x: number, y: number) => string | null; scene: Scene; go: (key: string, way: Direction) => string | null } {
  const tree = buildHierarchy(residual(), "unrolled");
  const answer = new Layouter(toLayoutGraph(tree, false)).layOut(open);
  const scene = new Scene(tree, answer.root, new Map(answer.fresh.map((layout) => [layout.id, layout])));
  return { scene, at: (x, y) => scene.at(x, y, false), go: (key, way) => neighbour(way, key, scene) };
}

describe("the arrow keys", () => {
  test("follow the edges down and up", () => {
    const { go } = opened(["s1"]);
    expect(go("o0", "down")).toBe("o1");
    expect(go("o1", "down")).toBe("o2");
    expect(go("o2", "down")).toBe("o5");
    expect(go("o5", "down")).toBe("o6");
    expect(go("o6", "down")).toBeNull();
    expect(go("o6", "up")).toBe("o5");
    expect(go("o0", "up")).toBeNull();
  });

  test("lead to the box beside, and into an open group", () => {
    const { go } = opened(["s1"]);
    expect(go("o1", "right")).toBe("s4");
    expect(go("s4", "left")).toBe("o1");
    expect(go("o1", "left")).toBeNull();
    expect(go("s1", "down")).toBe("o1");
  });

  test("the first and the last op are those that ran first and last", () => {
    const tree = buildHierarchy(residual(), "unrolled");
    expect([endOp(tree, "first"), endOp(tree, "last")]).toEqual(["o0", "o6"]);
    expect(endOp(buildHierarchy(pass([]), "unrolled"), "first")).toBeNull();
  });
});

describe("the boxes on screen", () => {
  test("closed groups stand for what is in them, and an open group inside a closed one does not show", () => {
    expect(opened([]).scene.boxFor("o3")?.key).toBe("s1");
    expect(opened(["s4"]).scene.boxFor("o3")?.key).toBe("s1");
    expect(opened(["s1"]).scene.boxFor("o3")?.key).toBe("s4");
    expect(opened(["s1", "s4"]).scene.boxFor("o3")?.key).toBe("o3");
    expect(opened([]).scene.boxFor("s1")?.key).toBe("s1");
  });

  test("closed groups take over the edges of what is in them, and keep those inside to themselves", () => {
    const { go } = opened([]);
    expect([go("o0", "down"), go("s1", "down"), go("o6", "down")]).toEqual(["s1", "o6", null]);
    expect([go("o6", "up"), go("s1", "up")]).toEqual(["s1", "o0"]);
    expect(opened(["s1"]).go("s4", "up")).toBe("o0");
  });
});

describe("what is under a point", () => {
  test("is the innermost box, or the op of a chip", () => {
    const { scene, at } = opened(["s1", "s4"]);
    const box = scene.boxes.get("o3")!;
    expect(at(box.x + 5, box.y + 5)).toBe("o3");
    expect(at(box.x - 20, box.y + 17)).toBe("o3");
    const frame = scene.boxes.get("s4")!;
    expect(at(frame.x + 2, frame.y + 2)).toBe("s4");
    expect(at(-500, -500)).toBeNull();
  });

  test("what is out of view is not collected", () => {
    const { scene } = opened(["s1", "s4"]);
    const all = scene.within({ x: -1e4, y: -1e4, width: 2e4, height: 2e4 }, 1);
    expect([...all.boxes, ...all.frames]).toHaveLength(scene.boxes.size);
    const last = scene.boxes.get("o6")!;
    const few = scene.within({ ...last, y: last.y + 30 }, 1);
    expect(few.boxes.map((box) => box.key)).toContain("o6");
    expect(few.boxes.map((box) => box.key)).not.toContain("o0");
  });
});

describe("asking for layouts", () => {
  const tree = buildHierarchy(residual(), "unrolled");

  test("answers come for the graph that was given last", () => {
    const replies: LayoutReply[] = [];
    const desk = new LayoutDesk((reply) => replies.push(reply));
    desk.ask({ id: 1, open: [], graph: toLayoutGraph(buildHierarchy(pass([]), "unrolled"), false) });
    desk.ask({ id: 2, open: [], graph: toLayoutGraph(tree, false) });
    desk.ask({ id: 3, open: ["s1"] });
    expect(replies.map((reply) => [reply.type, reply.id])).toEqual([["laid-out", 1], ["laid-out", 2], ["laid-out", 3]]);
    const keys = replies.map((reply) => (reply.type === "laid-out" ? reply.answer.fresh.flatMap(({ boxes }) => boxes.map(({ key }) => key)) : []));
    expect(keys[0]).toEqual([]);
    expect(keys[1]).toContain("s1");
    expect(keys[2]).toContain("o5");
  });

  test("a layout that fails says why", () => {
    const replies: LayoutReply[] = [];
    const desk = new LayoutDesk((reply) => replies.push(reply));
    desk.ask({ id: 1, open: [], graph: { nodes: [], edges: [0, 1], firstCondition: 1, slots: [-1], words: [0] } });
    expect(replies[0]).toMatchObject({ type: "failed", id: 1 });
  });
});
