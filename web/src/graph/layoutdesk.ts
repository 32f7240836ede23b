/** Questions to the layout and its answers, whether it runs in a worker or in the page. */
import { Layouter, type LayoutAnswer } from "./layout";
import type { LayoutGraph } from "./layoutgraph";

/** A graph to begin with, then which groups are open. */
export type LayoutQuestion =
  | { readonly type: "graph"; readonly graphId: number; readonly graph: LayoutGraph }
  | { readonly type: "open"; readonly graphId: number; readonly id: number; readonly open: readonly string[] };

export type LayoutReply =
  | { readonly type: "laid-out"; readonly graphId: number; readonly id: number; readonly answer: LayoutAnswer }
  | { readonly type: "progress"; readonly graphId: number; readonly id: number; readonly numPlaced: number }
  | { readonly type: "failed"; readonly graphId: number; readonly id: number; readonly reason: string };

/** Between two reports of progress. */
const REPORT_EVERY_MS = 100;

export class LayoutDesk {
  private graph: LayoutGraph | null = null;
  private layouter: Layouter | null = null;
  private graphId = -1;

  constructor(private readonly reply: (reply: LayoutReply) => void) {}

  ask(question: LayoutQuestion): void {
    if (question.type === "graph") {
      this.graph = question.graph;
      this.layouter = null;
      this.graphId = question.graphId;
      return;
    }
    const { graphId, id, open } = question;
    if (this.graph === null || graphId !== this.graphId) return;
    let reported = performance.now();
    try {
      this.layouter ??= new Layouter(this.graph);
      const answer = this.layouter.layOut(open, (numPlaced) => {
        const now = performance.now();
        if (now - reported < REPORT_EVERY_MS) return;
        reported = now;
        this.reply({ type: "progress", graphId, id, numPlaced });
      });
      this.reply({ type: "laid-out", graphId, id, answer });
    } catch (error) {
      this.reply({ type: "failed", graphId, id, reason: error instanceof Error ? error.message : String(error) });
    }
  }
}
