/** Keep the picture in step with what is open: ask for layouts, take them in, keep the view where it was. */
import { effect, untracked } from "@preact/signals";
import { shownKeys } from "../../../data/pass/edges";
import type { Hierarchy } from "../../../data/pass/model";
import * as store from "../../../data/store";
import { shownPart } from "../../../ui/pan-zoom";
import { LayoutDesk, type LayoutQuestion, type LayoutReply } from "../../../ui/graph-layout/layout";
import { type GroupLayout, type LayoutGraph, toLayoutGraph } from "../../../ui/graph-layout/layout-graph";
import { anchored, firstView, glideTo, jumpTo, revealed } from "./camera";
import { endOp } from "./highlight";
import { initialOpen, Scene } from "./scene";
import { camera, fixedLimit, layoutFailure, layoutWait, scene, viewSize, watch } from "./view-state";

/** Before this long, nothing is said about a layout being made. */
const PATIENCE_MS = 300;

/** Start to follow the store; the result stops it again. */
export function startLayouts(): () => void {
  const flow = new LayoutFlow();
  const stops = [
    effect(() => flow.takeGraph()),
    effect(() => flow.takeOpen()),
    effect(() => flow.takeReveal()),
    effect(() => flow.takeSize()),
  ];
  return () => {
    for (const stop of stops) stop();
    flow.stop();
  };
}

class LayoutFlow {
  private readonly worker = startLayoutWorker((reply) => this.hear(reply));
  private layouts = new Map<number, GroupLayout>();
  private tree: Hierarchy | null = null;
  /** Until it was handed over. */
  private graph: LayoutGraph | undefined;
  private lastId = 0;
  /** Of the questions about this graph. */
  private firstId = 0;
  private shownOpen: ReadonlySet<string> = new Set();
  private askedOpen: ReadonlySet<string> = new Set();
  private document: unknown = null;
  private isFirst = true;
  private wanted: string | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** A new pass, form or set of chips: everything is laid out anew. */
  takeGraph(): void {
    const tree = store.hierarchy.value;
    const showBuffers = store.showBuffers.value;
    if (tree === null) return;
    // The rolled form is another picture: where the view stood says nothing about it.
    if (this.tree !== null && this.tree.form !== tree.form) this.isFirst = true;
    this.tree = tree;
    // Not cleared: the picture on screen still draws from the old ones.
    this.layouts = new Map();
    this.graph = toLayoutGraph(tree, showBuffers);
    this.firstId = this.lastId + 1;
    untracked(() => {
      if (store.document.value !== this.document) {
        this.document = store.document.value;
        this.isFirst = true;
        scene.value = null;
        fixedLimit.value = null;
        store.openGroups.value = initialOpen(tree);
      }
      this.ask();
    });
  }

  takeOpen(): void {
    watch(store.openGroups);
    if (this.tree !== null) untracked(() => this.ask());
  }

  private ask(): void {
    const tree = store.hierarchy.value;
    if (tree === null) return;
    const open = store.openGroups.value;
    if (open === this.askedOpen && this.graph === undefined) return;
    this.askedOpen = open;
    this.lastId += 1;
    const id = this.lastId;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      if (id !== this.lastId) return;
      layoutWait.value = { numOps: shownKeys(tree, open).length, numPlaced: 0 };
    }, PATIENCE_MS);
    this.worker.ask({ id, open: [...open], graph: this.graph });
    this.graph = undefined;
  }

  private hear(reply: LayoutReply): void {
    if (reply.id < this.firstId) return;
    // Also an answer that is no longer asked for brings layouts that the worker will not send again.
    if (reply.type === "laid-out") for (const layout of reply.answer.fresh) this.layouts.set(layout.id, layout);
    if (reply.id !== this.lastId) return;
    if (reply.type === "progress") {
      if (layoutWait.value !== null) layoutWait.value = { ...layoutWait.value, numPlaced: reply.numPlaced };
      return;
    }
    clearTimeout(this.timer);
    layoutWait.value = null;
    layoutFailure.value = reply.type === "failed" ? reply.reason : null;
    if (reply.type === "laid-out") this.show(new Scene(this.tree!, reply.answer.root, this.layouts));
  }

  private show(next: Scene): void {
    const before = scene.peek();
    const anchor = before === null ? null : this.anchor(before, next);
    this.shownOpen = this.askedOpen;
    scene.value = next;
    if (this.isFirst) this.showFirst();
    else if (anchor !== null && before !== null) {
      jumpTo(anchored(camera.peek(), before.boxes.get(anchor)!, next.boxes.get(anchor)!));
    }
    this.showWanted(true);
  }

  private showFirst(): void {
    const [all, size] = [scene.peek(), viewSize.peek()];
    if (all === null || size.width === 0) return;
    this.isFirst = false;
    jumpTo(firstView(all, size, all.boxFor(endOp(all.hierarchy, "first") ?? "")));
  }

  takeSize(): void {
    if (viewSize.value.width > 0 && this.isFirst) untracked(() => this.showFirst());
  }

  /** The box that stays where it is on screen: the one that was opened or closed, else one near the middle. */
  private anchor(before: Scene, next: Scene): string | null {
    const [one, other] = [this.shownOpen, this.askedOpen];
    const [changed, second] = [...[...one].filter((key) => !other.has(key)), ...[...other].filter((key) => !one.has(key))];
    if (changed !== undefined && second === undefined && before.boxes.has(changed) && next.boxes.has(changed)) return changed;
    const part = shownPart(camera.peek(), viewSize.peek());
    const [x, y] = [part.x + part.width / 2, part.y + part.height / 2];
    let [nearest, least] = [null as string | null, Infinity];
    for (const box of before.boxes.values()) {
      const other = next.boxes.get(box.key);
      if (other === undefined || box.isOpen || other.isOpen) continue;
      const distance = Math.hypot(box.x + box.width / 2 - x, box.y + box.height / 2 - y);
      if (distance < least) [nearest, least] = [box.key, distance];
    }
    return nearest;
  }

  takeReveal(): void {
    const asked = store.reveal.value;
    if (asked === null) return;
    this.wanted = asked.key;
    untracked(() => {
      if (this.askedOpen === this.shownOpen && this.askedOpen === store.openGroups.value) this.showWanted(false);
    });
  }

  private showWanted(isNew: boolean): void {
    const [tree, all] = [store.hierarchy.peek(), scene.peek()];
    if (this.wanted === null || tree === null || all === null) return;
    const box = all.boxFor(this.wanted);
    this.wanted = null;
    if (box === undefined) return;
    // Of an open group the head is what has to be seen.
    const target = box.isOpen ? { ...box, height: Math.min(box.height, viewSize.peek().height / 2) } : box;
    const around = box.isOpen ? null : all.boxes.get(tree.nodes.get(box.key)?.parent ?? "");
    glideTo(revealed(camera.peek(), target, viewSize.peek(), around, isNew));
  }

  stop(): void {
    clearTimeout(this.timer);
    this.worker.stop();
  }
}

// --- Start the layout in a worker or, where none can start, in the page itself.

interface LayoutWorker {
  readonly ask: (question: LayoutQuestion) => void;
  readonly stop: () => void;
}

/** `hear` gets every reply, always after `ask` has returned. */
export function startLayoutWorker(hear: (reply: LayoutReply) => void): LayoutWorker {
  const asked: LayoutQuestion[] = [];
  let worker = newWorker();
  let desk: LayoutDesk | null = null;
  let hasAnswered = false;
  const askHere = (question: LayoutQuestion): void => {
    desk ??= new LayoutDesk(hear);
    const here = desk;
    setTimeout(() => here.ask(question));
  };
  if (worker !== null) {
    worker.onmessage = (event: MessageEvent<LayoutReply>) => {
      hasAnswered = true;
      asked.length = 0;
      hear(event.data);
    };
    // A worker that may not start (a policy, a browser that forbids it for files) says so only now.
    worker.onerror = (event) => {
      event.preventDefault();
      if (hasAnswered) return;
      worker?.terminate();
      worker = null;
      for (const question of asked.splice(0)) askHere(question);
    };
  }
  return {
    ask: (question) => {
      if (worker === null) {
        askHere(question);
        return;
      }
      if (!hasAnswered) asked.push(question);
      worker.postMessage(question);
    },
    stop: () => worker?.terminate(),
  };
}

/** The one-file page carries the worker as text; a page from a server names its address. */
function newWorker(): Worker | null {
  const text = document.getElementById("torcheer-worker")?.textContent ?? "";
  const address = document.querySelector<HTMLMetaElement>('meta[name="torcheer-worker"]')?.content ?? "";
  try {
    if (text !== "") return new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
    if (address !== "") return new Worker(new URL(address, document.baseURI));
  } catch {
    // The page lays out by itself then.
  }
  return null;
}
