/** The confusion matrix of one run, as a drawing or as a table. */
import { useCallback, useMemo, useState } from "preact/hooks";
import { formatCount, formatNumberOf, formatShare, formatValue } from "../../../data/format";
import { attempt } from "../../../data/message-of";
import { floatsOf, type FullRecord } from "../../../data/requests";
import { type Cell as CsvCell, fileName, save, toCsv } from "../../../data/save-file";
import { Refusal } from "../../../data/source";
import { Drawing, type Ink, type Spot } from "../../../plot/Drawing";
import { RunTag, ToolButton, Waiting } from "../../../plot/Figure";
import { type Cell as Place, movedCell } from "../../../plot/Matrix";
import { NumberTable } from "../../../plot/NumberTable";
import { cellNumbers } from "../../../plot/figure-options";
import { shortNumber } from "../../../plot/ticks";
import { actOn } from "../../../ui/keys";
import type { RunListing } from "../../../wire";

interface Props {
  name: string;
  run: RunListing;
  record: FullRecord;
  isNamed: boolean;
}

export function RunMatrix({ name, run, record, isNamed }: Props) {
  const [marked, setMarked] = useState<Place | null>(null);
  const [isTable, setIsTable] = useState(false);
  const { value: matrix, problem } = useMemo(() => attempt(() => readMatrix(record)), [record]);
  if (matrix === null) return <Waiting problem={problem} height={120} retry={() => undefined} />;
  const size = matrix.labels.length;
  const isShare = cellNumbers.chosen === "share";
  const shown = marked !== null && marked.row < size && marked.column < size ? marked : null;
  const label = `${name} of ${run.name}`;
  const take = (): void =>
    save(fileName([run.name, name, record.entry.step], "csv"), toCsv(matrixRows(matrix)), "text/csv");
  return (
    <div class="sec-one">
      <div class="sec-one-head">
        <span class="grow clip" role="status">
          {shown !== null ? (
            <span class="fs-1">{describePlace(matrix, shown, isShare)}</span>
          ) : (
            isNamed && <RunTag run={run} />
          )}
        </span>
        {shown === null && <span class="muted fs-1">step {formatCount(record.entry.step)}</span>}
        <span class="sec-tools">
          <ToolButton
            glyph="table"
            name={`Show ${label} as table`}
            isPressed={isTable}
            isDisabled={size > MAX_CLASSES}
            press={() => setIsTable(!isTable)}
          />
          <ToolButton
            glyph="save"
            name={`Save ${label} as CSV`}
            press={take}
          />
        </span>
      </div>
      {size > MAX_CLASSES ? (
        <p class="muted fs-1">
          {formatNumberOf(size, "class", "classes")} are more than are drawn ({MAX_CLASSES}); the CSV has them
          all.
        </p>
      ) : isTable ? (
        <NumberTable
          label={`Table of ${label}`}
          head={["true", ...matrix.labels]}
          rows={matrix.labels.map((truth, row) => [truth, ...matrix.labels.map((_, column) => textAt(matrix, { row, column }, isShare))])}
          isSmall
        />
      ) : (
        <MatrixDrawing name={label} matrix={matrix} isShare={isShare} marked={shown} mark={setMarked} />
      )}
    </div>
  );
}

// --- A confusion matrix as coloured cells, with numbers where they fit.

const LABEL_WIDTH = 64;
const TOP = 22;
const MAX_CELL = 34;
const NUMBERS_FROM = 17; // pixels of a cell
const LABELS_FROM = 9;
const SQUEEZED = 6; // pixels that a number may be wider than its cell: it is then set narrower

interface MatrixDrawingProps {
  name: string;
  matrix: Matrix;
  isShare: boolean;
  marked: Place | null;
  mark: (place: Place | null) => void;
}

function frameOf(size: number, width: number) {
  const left = size > 0 && (width - LABEL_WIDTH) / size >= LABELS_FROM ? LABEL_WIDTH : 4;
  return { left, cell: Math.max(1, Math.min(MAX_CELL, (width - left - 2) / Math.max(1, size))) };
}

function MatrixDrawing({ name, matrix, isShare, marked, mark }: MatrixDrawingProps) {
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
        const next = movedCell(marked, event, size, size);
        if (next !== null) actOn(event, { [event.key]: () => mark(next) });
      }}
    />
  );
}

type Frame = ReturnType<typeof frameOf>;

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
  if (marked === null) return;
  context.strokeStyle = ink.text;
  context.lineWidth = 2;
  const [x, y] = [left + marked.column * cell, TOP + marked.row * cell];
  context.strokeRect(x - 0.5, y - 0.5, cell - gap + 1, cell - gap + 1);
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
    context.fillText(clipped(context, label, left - 10, "…"), left - 6, TOP + (at + 0.5) * cell);
    context.textAlign = "center";
    // Above a column there is room for a few letters only.
    context.fillText(clipped(context, label, Math.max(cell * every - 3, 8), ""), left + (at + 0.5) * cell, TOP - 10);
  }
}

/** As much of a label as there is room for; `sign` says that there is more. */
function clipped(context: CanvasRenderingContext2D, label: string, room: number, sign: string): string {
  if (context.measureText(label).width <= room) return label;
  let text = label.slice(0, 40);
  while (text.length > 1 && context.measureText(text + sign).width > room) text = text.slice(0, -1);
  return text + sign;
}

// --- A confusion matrix: counts by true class and by what was said instead.

const MAX_CLASSES = 100;
const NUM_COLOURS = 10;
const FIRST_DARK = 5; // from this colour on the ink is that of the surface

export interface Matrix {
  readonly labels: readonly string[];
  /** A row for each true class. */
  readonly counts: Float64Array;
}

export function readMatrix({ entry, bytes }: FullRecord): Matrix {
  if (entry.head.kind !== "confusion")
    throw new Refusal(`This is no confusion matrix but a record of kind ${entry.head.kind}.`);
  const { labels } = entry.head;
  return { labels, counts: floatsOf(bytes, labels.length ** 2) };
}

function countIn({ labels, counts }: Matrix, { row, column }: Place): number {
  return counts[row * labels.length + column] ?? 0;
}

/** What a true class was read as, in per cent; all 0 where there is nothing of the class. */
function percentsOf({ labels: { length: size }, counts }: Matrix, row: number): Float64Array {
  const its = counts.subarray(row * size, (row + 1) * size);
  const sum = its.reduce((one, other) => one + other, 0);
  return its.map((count) => (sum > 0 ? (100 * count) / sum : 0));
}

export function percentIn(matrix: Matrix, { row, column }: Place): number {
  return percentsOf(matrix, row)[column] ?? 0;
}

/** The numbers that are shown, and the highest of them. */
export function shownNumbers(matrix: Matrix, isShare: boolean): { numbers: readonly number[]; most: number } {
  if (isShare) return { numbers: matrix.labels.flatMap((_, row) => [...percentsOf(matrix, row)]), most: 100 };
  return { numbers: [...matrix.counts], most: matrix.counts.reduce((most, one) => (one > most ? one : most), 0) };
}

/** The step of the sequential map. What is not nought never has the colour of nought. */
export function colourStep(number: number, most: number): number {
  if (!(number > 0) || most <= 0) return 0;
  return Math.max(1, Math.round(Math.min(1, number / most) * (NUM_COLOURS - 1)));
}

/** Is the ink on a colour that of the surface? The contrast is then at least 4.7:1. */
export function isInverse(step: number): boolean {
  return step >= FIRST_DARK;
}

function textAt(matrix: Matrix, place: Place, isShare: boolean): string {
  if (isShare) return percentIn(matrix, place).toFixed(1);
  const count = countIn(matrix, place);
  return Number.isInteger(count) ? formatCount(count) : formatValue(count);
}

/** `cat read as dog: 38` */
export function describePlace(matrix: Matrix, place: Place, isShare: boolean): string {
  const [truth, said] = [matrix.labels[place.row] ?? "", matrix.labels[place.column] ?? ""];
  const verb = place.row === place.column ? `${truth} read as itself` : `${truth} read as ${said}`;
  const plain = textAt(matrix, place, false);
  return `${verb}: ${isShare ? `${textAt(matrix, place, true)}\u202f% (${plain})` : plain}`;
}

/** The share of all that was read right; NaN for an empty matrix. */
export function accuracyOf({ labels, counts }: Matrix): number {
  const all = counts.reduce((sum, count) => sum + count, 0);
  const right = labels.reduce((sum, _, at) => sum + counts[at * (labels.length + 1)]!, 0);
  return all > 0 ? right / all : NaN;
}

export function matrixRows(matrix: Matrix): CsvCell[][] {
  const size = matrix.labels.length;
  const rows = matrix.labels.map((label, row) => [label, ...matrix.counts.subarray(row * size, (row + 1) * size)]);
  return [["true \\ read as", ...matrix.labels], ...rows];
}
