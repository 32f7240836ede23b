/** The drawing of a lesson: cards and lines, moved and zoomed as a whole, with the arrow keys along the edges. */
import { useSignalEffect } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import * as store from "../store";
import { Card } from "./Card";
import { Chip } from "./Chip";
import { Drawing } from "./Drawing";
import { EdgeLayer } from "./EdgeLayer";
import { usePanning } from "./usePanning";
import { around, begin, layout, show, viewSize } from "./view";
import { isArrow, walked } from "./walking";
import { ZoomBar } from "./ZoomBar";

export function LessonGraph() {
  const stage = useRef<HTMLDivElement>(null);
  const all = store.lesson.value;
  const drawn = layout.value;
  useViewSize(stage);
  usePanning(stage);
  useFollowing();
  const [focused, setFocused] = useState<number | null>(null);
  if (all === null || drawn === null) return null;
  const roving = focused !== null && focused < all.nodes.length ? focused : (store.currentTarget.value ?? 0);
  const onKeyDown = (event: KeyboardEvent): void => {
    const card = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-node]") : null;
    if (card === null || !isArrow(event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const to = walked(all.nodes, drawn, Number(card.dataset.node), event.key);
    if (to === null) return;
    setFocused(to);
    show(drawn.boxes[to]!);
    stage.current?.querySelector<HTMLElement>(`[data-node="${to}"]`)?.focus({ preventScroll: true });
  };
  return (
    <>
      <div class="learn-stage" ref={stage} role="group" aria-label="Expression graph" onKeyDown={onKeyDown}>
        <Drawing>
          <EdgeLayer layout={drawn} />
          {all.nodes.map((node) => (
            <Card
              key={node.id}
              node={node}
              box={drawn.boxes[node.id]!}
              role={roleOf(node.id)}
              hasFocus={node.id === roving}
              onChoose={() => {
                setFocused(node.id);
                store.lookedAt.value = store.lookedAt.peek() === node.id ? null : node.id;
              }}
            />
          ))}
          <Chip layout={drawn} />
        </Drawing>
      </div>
      <ZoomBar />
    </>
  );
}

function roleOf(id: number): "now" | "from" | "" {
  if (id === store.currentTarget.value) return "now";
  if (store.direction.value === "backward") return id === store.currentNode.value?.id ? "from" : "";
  return store.currentNode.value?.parents.includes(id) === true ? "from" : "";
}

function useViewSize(stage: { current: HTMLDivElement | null }): void {
  useLayoutEffect(() => {
    const box = stage.current;
    if (box === null) return undefined;
    const measure = (): void => {
      viewSize.value = { width: box.clientWidth, height: box.clientHeight };
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    return () => observer.disconnect();
  }, []);
}

/** The drawing is fitted when it is new, and what the step is about is kept in view. */
function useFollowing(): void {
  const seen = useRef<unknown>(null);
  useEffect(() => {
    seen.current = null;
  }, []);
  useSignalEffect(() => {
    const [drawn, size] = [layout.value, viewSize.value];
    if (drawn === null || size.width === 0) return;
    begin(currentPart(), seen.current !== drawn);
    seen.current = drawn;
  });
  useSignalEffect(() => {
    const part = currentPart();
    if (part !== null && layout.peek() !== null) show(part);
  });
}

function currentPart(): ReturnType<typeof around> {
  const boxes = layout.peek()?.boxes ?? [];
  const ids = [store.currentTarget.value, store.currentNode.value?.id ?? null];
  return around(ids.flatMap((id) => (id === null || boxes[id] === undefined ? [] : [boxes[id]])));
}
