/** A value of the graph: its name, how it was made, its numbers and its gradient as colours. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { formatShape } from "../../format";
import type { Rect } from "../../graph/scene";
import * as page from "../../store";
import { paintValues, readPalette, type Scale, stepClass } from "../../tensor/colour";
import type { Cells, LearnNode } from "../../wire";
import { numbersOf, sizeOf } from "../cells";
import { scaleFor } from "../colouring";
import { cellFormat } from "../numbers";
import { type Arrived, hasValue } from "../steps";
import * as store from "../store";
import { CELL, gridSize, isPicture, PITCH, sideText } from "./cards";

interface Props {
  node: LearnNode;
  box: Rect;
  /** How it takes part in the step: where something arrives, where it comes from. */
  role: "now" | "from" | "";
  hasFocus: boolean;
  onChoose: () => void;
}

export function Card({ node, box, role, hasFocus, onChoose }: Props) {
  const lesson = store.lesson.value!;
  const isMade = hasValue(lesson, store.direction.value, store.step.value, node.id);
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

function gradientCaption(gradient: Arrived): string {
  if (gradient.state === "none") return "no grad";
  if (gradient.state === "not yet") return "not yet";
  const { number, num_all } = gradient.step;
  return gradient.isAll ? caption(gradient.cells, "grad") : `${number} of ${num_all}`;
}

const GRADIENT_WORDS = { none: "no gradient wanted", "not yet": "gradient not yet", arrived: "gradient arrived" } as const;

function labelOf(node: LearnNode, isMade: boolean, gradient: Arrived): string {
  const made = node.kind === "op" ? (node.text === node.name ? node.rule : node.text) : node.kind;
  const state = gradient.state === "arrived" && !gradient.isAll ? "part of the gradient arrived" : GRADIENT_WORDS[gradient.state];
  return `${node.name}, ${made}, ${formatShape(node.value.shape)}, ${isMade ? "" : "value not yet, "}${state}`;
}

// --- The numbers of a tensor as small coloured cells, without the numbers.

interface MiniGridProps {
  cells: Cells;
  scale: Scale;
  /** Not there yet, or never: the places without colours. */
  isGhost?: boolean;
  /** Outlined; -1 for none. */
  marked?: number;
}

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
  return (
    <svg class="mini" width={width} height={height} aria-hidden="true">
      {numbers.map((value, at) => {
        const [x, y] = [(at % columns) * PITCH, Math.floor(at / columns) * PITCH];
        if (isGhost) return <rect key={at} class="ghost" x={x + 0.5} y={y + 0.5} width={CELL - 1} height={CELL - 1} rx={2} />;
        return <rect key={at} class={stepClass(scale, value)} x={x} y={y} width={CELL} height={CELL} rx={2} />;
      })}
      {marked >= 0 && !isGhost && marked < numbers.length && (
        <rect
          class="marked"
          x={(marked % columns) * PITCH}
          y={Math.floor(marked / columns) * PITCH}
          width={CELL}
          height={CELL}
          rx={2}
        />
      )}
    </svg>
  );
}

// --- A tensor with more numbers than cells have room for: a pixel for each.

interface MiniPictureProps {
  cells: Cells;
  scale: Scale;
  /** On screen; as on a card where it is not said. */
  size?: { readonly width: number; readonly height: number };
}

function MiniPicture({ cells, scale, size = gridSize(cells) }: MiniPictureProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const tick = page.themeTick.value;
  const [columns, rows] = [Math.max(1, cells.num_columns), Math.max(1, cells.num_rows)];
  useLayoutEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (context === null || context === undefined || cells.values.length < columns * rows) return;
    const pixels = paintValues(numbersOf(cells), 0, columns, rows, scale, readPalette("div"));
    context.putImageData(new ImageData(pixels, columns, rows), 0, 0);
  }, [cells, scale.low, scale.high, tick]);
  return (
    <canvas
      ref={canvas}
      class="mini-picture"
      width={columns}
      height={rows}
      style={{ width: `${size.width}px`, height: `${size.height}px` }}
      aria-hidden="true"
    />
  );
}
