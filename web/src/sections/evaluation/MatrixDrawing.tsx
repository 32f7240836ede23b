/** A confusion matrix as coloured cells, with numbers where they fit. */
import { useCallback } from "preact/hooks";
import { formatShare } from "../../format";
import type { Ink } from "../drawn";
import { Drawing, type Spot } from "../Drawing";
import { shortNumber } from "../../charting/tickwords";
import { accuracyOf, colourStep, isInverse, moved, shownNumbers, type Matrix, type Place } from "./matrix";

const LABEL_WIDTH = 64;
const TOP = 22;
const MAX_CELL = 34;
const NUMBERS_FROM = 17; // pixels of a cell
const LABELS_FROM = 9;
const SQUEEZED = 6; // pixels that a number may be wider than its cell: it is then set narrower

interface Props {
  name: string;
  matrix: Matrix;
  isShare: boolean;
  marked: Place | null;
  mark: (place: Place | null) => void;
}

interface Frame {
  readonly left: number;
  readonly cell: number;
}

function frameOf(size: number, width: number): Frame {
  const left = size > 0 && (width - LABEL_WIDTH) / size >= LABELS_FROM ? LABEL_WIDTH : 4;
  return { left, cell: Math.max(1, Math.min(MAX_CELL, (width - left - 2) / Math.max(1, size))) };
}

export function MatrixDrawing({ name, matrix, isShare, marked, mark }: Props) {
  const size = matrix.labels.length;
  const paint = useCallback(
    (context: CanvasRenderingContext2D, width: number, _: number, ink: Ink) =>
      paintMatrix(context, frameOf(size, width), matrix, isShare, marked, ink),
    [matrix, isShare, marked?.row, marked?.column],
  );
  const placeUnder = ({ x, y, width }: Spot): Place | null => {
    const { left, cell } = frameOf(size, width);
    const [column, row] = [Math.floor((x - left) / cell), Math.floor((y - TOP) / cell)];
    return row >= 0 && column >= 0 && row < size && column < size ? { row, column } : null;
  };
  const accuracy = accuracyOf(matrix);
  const right = Number.isNaN(accuracy) ? "nothing in it" : `${formatShare(accuracy, 1)} on its diagonal`;
  return (
    <Drawing
      label={`${name}: confusion matrix of ${size} classes, ${right}. Arrow keys read its cells.`}
      height={(width) => TOP + frameOf(size, width).cell * size + 4}
      paint={paint}
      onPoint={(spot) => mark(spot === null ? null : placeUnder(spot))}
      onKeyDown={(event) => {
        const next = moved(marked ?? { row: 0, column: 0 }, event.key, size);
        if (next === null) return;
        event.preventDefault();
        event.stopPropagation();
        mark(marked === null ? { row: 0, column: 0 } : next);
      }}
    />
  );
}

function paintMatrix(
  context: CanvasRenderingContext2D,
  { left, cell }: Frame,
  matrix: Matrix,
  isShare: boolean,
  marked: Place | null,
  ink: Ink,
): void {
  const size = matrix.labels.length;
  const { numbers, most } = shownNumbers(matrix, isShare);
  const gap = cell >= 8 ? 1 : 0;
  context.font = ink.font;
  context.textBaseline = "middle";
  context.textAlign = "center";
  for (const [at, number] of numbers.entries()) {
    const [x, y] = [left + (at % size) * cell, TOP + Math.floor(at / size) * cell];
    const step = colourStep(number, most);
    context.fillStyle = ink.sequential[step]!;
    context.beginPath();
    context.roundRect(x, y, cell - gap, cell - gap, cell >= 12 ? 1.5 : 0);
    context.fill();
    const text = cell >= NUMBERS_FROM && number > 0 ? cellText(number) : "";
    if (text === "" || context.measureText(text).width > cell + SQUEEZED) continue;
    context.fillStyle = isInverse(step) ? ink.surface : ink.text;
    context.fillText(text, x + (cell - gap) / 2, y + (cell - gap) / 2 + 0.5, cell - 2);
  }
  if (left > 8) paintLabels(context, { left, cell }, matrix.labels, ink);
  if (marked !== null) {
    context.strokeStyle = ink.text;
    context.lineWidth = 2;
    context.strokeRect(
      left + marked.column * cell - 0.5,
      TOP + marked.row * cell - 0.5,
      cell - gap + 1,
      cell - gap + 1,
    );
  }
}

function cellText(number: number): string {
  return number < 10 && !Number.isInteger(number) ? number.toFixed(1) : shortNumber(Math.round(number));
}

function paintLabels(
  context: CanvasRenderingContext2D,
  { left, cell }: Frame,
  labels: readonly string[],
  ink: Ink,
): void {
  context.fillStyle = ink.caption;
  context.textAlign = "right";
  context.fillText("true \\ said", left - 6, TOP - 10);
  // Where the rows are closer than a line is high, only some have room.
  const every = Math.max(1, Math.ceil(11 / cell));
  for (const [at, label] of labels.entries()) {
    if (at % every !== 0) continue;
    context.textAlign = "right";
    context.fillText(clipped(context, label, left - 10), left - 6, TOP + (at + 0.5) * cell);
    context.textAlign = "center";
    const across = Math.max(cell * every - 3, 8);
    context.fillText(short(context, label, across), left + (at + 0.5) * cell, TOP - 10);
  }
}

/** As much of a label as there is room for, with a sign that there is more. */
function clipped(context: CanvasRenderingContext2D, label: string, room: number): string {
  if (context.measureText(label).width <= room) return label;
  let text = label.slice(0, 40);
  while (text.length > 1 && context.measureText(`${text}…`).width > room) text = text.slice(0, -1);
  return `${text}…`;
}

/** The same without the sign, where there is room for a few letters only. */
function short(context: CanvasRenderingContext2D, label: string, room: number): string {
  let text = label.slice(0, 40);
  while (text.length > 1 && context.measureText(text).width > room) text = text.slice(0, -1);
  return text;
}
