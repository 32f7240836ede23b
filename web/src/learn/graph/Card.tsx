/** A value of the graph: its name, how it was made, its numbers and its gradient as colours. */
import type { Rect } from "../../graph/scene";
import { formatShape } from "../../format";
import type { Cells, LearnNode } from "../../wire";
import { sizeOf } from "../cells";
import { scaleFor } from "../colouring";
import { cellFormat } from "../numbers";
import { numbersOf } from "../cells";
import { hasValue, type Arrived } from "../steps";
import * as store from "../store";
import { isPicture, sideText } from "./cards";
import { MiniGrid } from "./MiniGrid";

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
