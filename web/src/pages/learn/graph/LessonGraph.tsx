/** The drawing of a lesson: cards and lines, moved and zoomed as a whole, with the arrow keys along the edges. */
import { useSignalEffect } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { formatShape } from "../../../data/format";
import * as page from "../../../data/store";
import { type Picture, Pixels } from "../../../ui/Pixels";
import { paintValues, readPalette, type Scale, stepClass } from "../../../ui/colour-scale";
import { followSize } from "../../../ui/useSize";
import { FitButton, ZoomButtons } from "../../../ui/controls";
import { followPointer, type Rect } from "../../../ui/pan-zoom";
import type { Cells, LearnNode } from "../../../wire";
import { cellFormat, numbersOf, scaleFor, sizeOf } from "../cells";
import * as store from "../store";
import { CELL, type EdgePath, type GraphLayout, gridSize, isPicture, PITCH, sideText } from "./layout";
import { begin, camera, currentPart, fit, isHeld, layout, panBy, show, viewSize, zoomBy } from "./view";

export function LessonGraph() {
  const stage = useRef<HTMLDivElement>(null);
  const all = store.lesson.value;
  const drawn = layout.value;
  useLayoutEffect(() => {
    return stage.current === null ? undefined : followSize(stage.current, (size) => (viewSize.value = size));
  }, [stage.current]);
  useEffect(() => {
    const hold = (now: boolean): void => {
      isHeld.value = now;
    };
    return stage.current === null ? undefined : followPointer(stage.current, { panBy, zoomBy, hold });
  }, [stage.current]);
  useFollowing();
  const [focused, setFocused] = useState<number | null>(null);
  if (all === null || drawn === null) return null;
  const roving = focused !== null && focused < all.nodes.length ? focused : (store.currentTarget.value ?? 0);
  const onKeyDown = (event: KeyboardEvent): void => {
    const card = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-node]") : null;
    if (card === null || !event.key.startsWith("Arrow") || event.ctrlKey || event.metaKey || event.altKey) return;
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

/** The drawing is fitted when it is new, and what the step is about is kept in view. */
function useFollowing(): void {
  const seen = useRef<unknown>(null);
  useEffect(() => {
    seen.current = null;
  }, []);
  useSignalEffect(() => {
    const [drawn, size] = [layout.value, viewSize.value];
    if (drawn === null || size.width === 0) return;
    begin(seen.current !== drawn);
    seen.current = drawn;
  });
  useSignalEffect(() => {
    if (currentPart.value !== null) show(currentPart.value);
  });
}

/** Zoom and fit of the drawing. */
function ZoomBar() {
  return (
    <div class="float learn-zoom" role="toolbar" aria-label="View">
      <ZoomButtons scale={camera.value.scale} zoomBy={zoomBy} />
      <FitButton fit={fit} />
    </div>
  );
}

/** What moves and zooms as a whole. Its cards are not made anew for that. */
function Drawing({ children }: { children: ComponentChildren }) {
  const { x, y, scale } = camera.value;
  return (
    <div
      class={isHeld.value ? "learn-drawing held" : "learn-drawing"}
      style={{ transform: `translate(${-x * scale}px, ${-y * scale}px) scale(${scale})` }}
    >
      {children}
    </div>
  );
}

/** Where the arrow keys lead from a card: along the edges, or to a neighbour. */
export function walked(nodes: readonly LearnNode[], layout: GraphLayout, from: number, key: string): number | null {
  const middle = (id: number): number => layout.boxes[id]!.x + layout.boxes[id]!.width / 2;
  const near = (ids: readonly number[]): number | null =>
    ids.length === 0
      ? null
      : ids.reduce((one, other) => (Math.abs(middle(other) - middle(from)) < Math.abs(middle(one) - middle(from)) ? other : one));
  if (key === "ArrowUp") return near(nodes[from]?.parents ?? []);
  if (key === "ArrowDown") return near(nodes.filter(({ parents }) => parents.includes(from)).map(({ id }) => id));
  const sign = key === "ArrowRight" ? 1 : -1;
  const { y, height } = layout.boxes[from]!;
  const isBeside = (box: Rect): boolean => box.y < y + height && y < box.y + box.height;
  return near(nodes.map(({ id }) => id).filter((id) => isBeside(layout.boxes[id]!) && sign * (middle(id) - middle(from)) > 0));
}

/** As in learn.css. */
const WIDTH = 86;
const HEIGHT = 18;

/** On the line of the step: what goes along it, and which way. */
function Chip({ layout }: { layout: GraphLayout }) {
  const [now] = store.steps.value[store.step.value - 1]?.edges ?? [];
  const edge = layout.edges.find(({ key }) => key === now);
  if (store.direction.value === "forward" || edge === undefined) return null;
  // Clear of the line, which goes to the other side, and between the cards where they are near.
  const { start, end } = edge;
  const gap = end.y - start.y;
  const left = start.x + (end.x > start.x + 8 ? -WIDTH - 18 : 18);
  const top = start.y + (gap < 2 * HEIGHT ? (gap - HEIGHT) / 2 : 8);
  return (
    <span class="learn-chip" style={{ left: `${left}px`, top: `${top}px` }} aria-hidden="true">
      gradient ↑
    </span>
  );
}

const ARROW = 6;

/** The lines of the graph, under its cards, and what goes along one of them now. */
function EdgeLayer({ layout }: { layout: GraphLayout }) {
  const [steps, step] = [store.steps.value, store.step.value];
  const now = new Set(steps[step - 1]?.edges);
  const done = new Set(steps.slice(0, step - 1).flatMap(({ edges }) => edges));
  const { x, y, width, height } = layout.bounds;
  return (
    <svg
      class="learn-edges"
      style={{ left: `${x}px`, top: `${y}px` }}
      width={width}
      height={height}
      viewBox={`${x} ${y} ${width} ${height}`}
      aria-hidden="true"
    >
      {store.lesson.value!.nodes.map(({ id, kind }) => {
        const box = layout.boxes[id]!;
        // Inputs are dashed, more evenly than a border would be.
        return kind !== "op" && <rect key={id} class="leaf" x={box.x + 0.5} y={box.y + 0.5} width={box.width - 1} height={box.height - 1} rx={6} />;
      })}
      {layout.edges.map(({ key, path }) => (
        <path key={key} class={now.has(key) ? "edge now" : done.has(key) ? "edge done" : "edge"} d={path} />
      ))}
      {layout.edges.map((edge) => now.has(edge.key) && <Arrow key={edge.key} edge={edge} />)}
    </svg>
  );
}

/** At the end to which something goes: up to the input on the way back, down to the op on the way forward. */
function Arrow({ edge: { start, end } }: { edge: EdgePath }) {
  const [{ x, y }, back] = store.direction.value === "backward" ? [start, ARROW * 1.4] : [end, -ARROW * 1.4];
  return <path class="arrow" d={`M${x} ${y}L${x - ARROW} ${y + back}L${x + ARROW} ${y + back}Z`} />;
}

interface Props {
  node: LearnNode;
  box: Rect;
  /** How it takes part in the step: where something arrives, where it comes from. */
  role: "now" | "from" | "";
  hasFocus: boolean;
  onChoose: () => void;
}

/** A value of the graph: its name, how it was made, its numbers and its gradient as colours. */
function Card({ node, box, role, hasFocus, onChoose }: Props) {
  const isMade = store.isMade(node.id);
  const gradient = store.shownGradient(node.id);
  const isLooked = store.lookedAt.value === node.id;
  const isBackward = store.direction.value === "backward";
  const marked = role === "now" && isBackward && !store.isHidden.value ? store.element.value : -1;
  return (
    <button
      class={`learn-card ${node.kind === "op" ? "" : "leaf"} ${role} ${isLooked ? "looked" : ""}`}
      style={{ left: `${box.x}px`, top: `${box.y}px`, width: `${box.width}px`, height: `${box.height}px` }}
      tabIndex={hasFocus ? 0 : -1}
      data-node={node.id}
      aria-pressed={isLooked}
      aria-label={labelOf(node, isMade, gradient)}
      title={node.layer === "" ? undefined : `in ${node.layer}`}
      onClick={onChoose}
    >
      <span class="card-head">
        <b class="mono clip">{node.name}</b>
        <span class="clip">{sideText(node)}</span>
      </span>
      <span class="card-grids">
        <MiniGrid cells={node.value} scale={scaleFor(node.value, "value")} isGhost={!isMade} />
        {gradient.state === "arrived" ? (
          <MiniGrid cells={gradient.cells} scale={scaleFor(gradient.cells, "gradient")} marked={marked} />
        ) : (
          <MiniGrid cells={node.value} scale={scaleFor(node.value, "gradient")} isGhost />
        )}
      </span>
      <span class="card-foot">
        <span>{isMade ? caption(node.value, "value") : "not yet"}</span>
        <span>{gradientCaption(gradient)}</span>
      </span>
    </button>
  );
}

/** A single number is written out; what is cut off or small says how large it is. */
function caption(cells: Cells, word: string): string {
  const numbers = numbersOf(cells);
  if (sizeOf(cells) === 1 && numbers.length === 1) return cellFormat(numbers)(numbers[0]!);
  return isPicture(cells) ? `${word} ${formatShape(cells.shape)}` : word;
}

function gradientCaption(gradient: store.Arrived): string {
  if (gradient.state !== "arrived") return gradient.state === "none" ? "no grad" : "not yet";
  const { number, num_all } = gradient.step;
  return gradient.isAll ? caption(gradient.cells, "grad") : `${number} of ${num_all}`;
}

const GRADIENT_WORDS = { none: "no gradient wanted", "not yet": "gradient not yet", arrived: "gradient arrived" } as const;

function labelOf(node: LearnNode, isMade: boolean, gradient: store.Arrived): string {
  const made = node.kind === "op" ? (node.text === node.name ? node.rule : node.text) : node.kind;
  const state = gradient.state === "arrived" && !gradient.isAll ? "part of the gradient arrived" : GRADIENT_WORDS[gradient.state];
  return `${node.name}, ${made}, ${formatShape(node.value.shape)}, ${isMade ? "" : "value not yet, "}${state}`;
}

interface MiniGridProps {
  cells: Cells;
  scale: Scale;
  /** Not there yet, or never: the places without colours. */
  isGhost?: boolean;
  /** Outlined; -1 for none. */
  marked?: number;
}

/** The numbers of a tensor as small coloured cells, without the numbers. */
function MiniGrid({ cells, scale, isGhost = false, marked = -1 }: MiniGridProps) {
  const { width, height } = gridSize(cells);
  if (isPicture(cells)) {
    if (!isGhost) return <MiniPicture cells={cells} scale={scale} />;
    return (
      <svg class="mini" width={width} height={height} aria-hidden="true">
        <rect class="ghost" x={0.5} y={0.5} width={width - 1} height={height - 1} rx={2} />
      </svg>
    );
  }
  const columns = Math.max(1, cells.num_columns);
  const numbers = numbersOf(cells);
  const square = (at: number, look: string, inset = 0) => {
    const [x, y, side] = [(at % columns) * PITCH + inset, Math.floor(at / columns) * PITCH + inset, CELL - 2 * inset];
    return <rect key={look === "marked" ? look : at} class={look} x={x} y={y} width={side} height={side} rx={2} />;
  };
  return (
    <svg class="mini" width={width} height={height} aria-hidden="true">
      {numbers.map((value, at) => (isGhost ? square(at, "ghost", 0.5) : square(at, stepClass(scale, value))))}
      {marked >= 0 && !isGhost && marked < numbers.length && square(marked, "marked")}
    </svg>
  );
}

/** A tensor with more numbers than cells have room for: a pixel for each. */
function MiniPicture({ cells, scale }: { cells: Cells; scale: Scale }) {
  const tick = page.themeTick.value;
  const [width, height] = [Math.max(1, cells.num_columns), Math.max(1, cells.num_rows)];
  const paint = (): Picture | null =>
    cells.values.length < width * height
      ? null
      : { width, height, pixels: paintValues(numbersOf(cells), 0, width, height, scale, readPalette("div")) };
  const depends = [cells, scale.low, scale.high, tick];
  const size = gridSize(cells);
  return <Pixels class="mini-picture" aria-hidden="true" style={{ width: `${size.width}px`, height: `${size.height}px` }} picture={paint} depends={depends} />;
}
