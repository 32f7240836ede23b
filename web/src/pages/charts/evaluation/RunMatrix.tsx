/** The confusion matrix of one run, as coloured cells or as a table. */
import { useMemo, useState } from "preact/hooks";
import { formatCount, formatNumberOf, formatShare, formatValue } from "../../../data/format";
import { attempt } from "../../../data/message-of";
import { floatsOf, type FullRecord } from "../../../data/requests";
import { type Cell as CsvCell, fileName, save, toCsv } from "../../../data/save-file";
import { Refusal } from "../../../data/source";
import { RunTag, ToolButton, Waiting } from "../../../plot/Figure";
import { type Cell as Place, movedCell } from "../../../plot/Matrix";
import { NumberTable } from "../../../plot/NumberTable";
import { cellNumbers } from "../../../plot/figure-options";
import { shortNumber } from "../../../plot/ticks";
import { actOn } from "../../../ui/keys";
import { useWidth } from "../../../ui/useWidth";
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
          rows={matrix.labels.map((truth, row) => [truth, ...matrix.labels.map((_, column) => textAt(matrix, row * size + column, isShare))])}
          isSmall
        />
      ) : (
        <Cells name={label} matrix={matrix} isShare={isShare} marked={shown} mark={setMarked} />
      )}
    </div>
  );
}

const NAMES_WIDTH = 64;
const MAX_CELL = 34;
const NUMBERS_FROM = 17; // pixels of a cell
const NAMES_FROM = 9;
const DIGIT = 0.62; // its width, by the size of the font
const LARGEST = 11;

interface CellsProps {
  name: string;
  matrix: Matrix;
  isShare: boolean;
  marked: Place | null;
  mark: (place: Place | null) => void;
}

/** A confusion matrix as coloured cells, with names and numbers where they fit. */
function Cells({ name, matrix, isShare, marked, mark }: CellsProps) {
  const { labels, accuracy } = matrix;
  const size = labels.length;
  const [box, width] = useWidth<HTMLDivElement>(280);
  const isNamed = size > 0 && (width - NAMES_WIDTH) / size >= NAMES_FROM;
  const side = Math.max(1, Math.min(MAX_CELL, (width - (isNamed ? NAMES_WIDTH : 0) - 2) / Math.max(1, size)));
  // Three digits have room in every cell that has numbers.
  const font = Math.min(LARGEST, (side - 2) / (3 * DIGIT));
  // Not anew for each cell that is pointed at.
  const cells = useMemo(() => {
    const numbers = isShare ? matrix.percents : matrix.counts;
    const most = isShare ? 100 : numbers.reduce((one, other) => Math.max(one, other), 0);
    return labels.map((truth, row) => [
      <b key={row} class="clip">
        {truth}
      </b>,
      ...labels.map((_, column) => {
        const number = numbers[row * size + column]!;
        const text = side >= NUMBERS_FROM && number > 0 ? cellText(number) : "";
        return (
          <span class={`cell q${colourStep(number, most)}`} onPointerEnter={() => mark({ row, column })}>
            {text.length * DIGIT * font < side ? text : ""}
          </span>
        );
      }),
    ]);
  }, [matrix, isShare, side]);
  const right = Number.isNaN(accuracy) ? "nothing in it" : `${formatShare(accuracy, 1)} on its diagonal`;
  return (
    <div
      ref={box}
      class={isNamed ? "sec-matrix" : "sec-matrix unnamed"}
      style={{ "--cell": `${side}px`, "--count": size, "--gap": side >= 8 ? "1px" : "0px", fontSize: `${font}px` }}
      role="img"
      aria-label={`${name}: confusion matrix of ${size} classes, ${right}. Arrow keys read its cells.`}
      tabIndex={0}
      onPointerLeave={() => mark(null)}
      onKeyDown={(event) => {
        const next = movedCell(marked, event, size, size);
        if (next !== null) actOn(event, { [event.key]: () => mark(next) });
      }}
    >
      <b>true \ said</b>
      {labels.map((label, at) => (
        <b key={at}>{label}</b>
      ))}
      {cells}
      {marked !== null && <i style={{ gridArea: `${marked.row + 2} / ${marked.column + 2} / span 1 / span 1` }} />}
    </div>
  );
}

function cellText(number: number): string {
  return number < 10 && !Number.isInteger(number) ? number.toFixed(1) : shortNumber(Math.round(number));
}

// --- A confusion matrix: counts by true class and by what was said instead.

const MAX_CLASSES = 100;
const NUM_COLOURS = 10;

export interface Matrix {
  readonly labels: readonly string[];
  /** A row for each true class. */
  readonly counts: Float64Array;
  /** What a true class was read as; all 0 where there is nothing of the class. */
  readonly percents: Float64Array;
  /** The share of all that was read right; NaN for an empty matrix. */
  readonly accuracy: number;
}

export function matrixWith(labels: readonly string[], counts: Float64Array): Matrix {
  const { length: size } = labels;
  const sums = labels.map((_, row) => counts.subarray(row * size, (row + 1) * size).reduce((sum, count) => sum + count, 0));
  const percents = counts.map((count, at) => (count === 0 ? 0 : (100 * count) / sums[Math.floor(at / size)]!));
  const all = sums.reduce((sum, one) => sum + one, 0);
  const right = labels.reduce((sum, _, at) => sum + counts[at * (size + 1)]!, 0);
  return { labels, counts, percents, accuracy: all > 0 ? right / all : NaN };
}

export function readMatrix({ entry, bytes }: FullRecord): Matrix {
  if (entry.head.kind !== "confusion")
    throw new Refusal(`This is no confusion matrix but a record of kind ${entry.head.kind}.`);
  const { labels } = entry.head;
  return matrixWith(labels, floatsOf(bytes, labels.length ** 2));
}

/** The step of the sequential map. What is not nought never has the colour of nought. */
export function colourStep(number: number, most: number): number {
  if (!(number > 0) || most <= 0) return 0;
  return Math.max(1, Math.round(Math.min(1, number / most) * (NUM_COLOURS - 1)));
}

function textAt({ counts, percents }: Matrix, at: number, isShare: boolean): string {
  if (isShare) return percents[at]!.toFixed(1);
  return Number.isInteger(counts[at]) ? formatCount(counts[at]!) : formatValue(counts[at]!);
}

/** `cat read as dog: 38` */
export function describePlace(matrix: Matrix, { row, column }: Place, isShare: boolean): string {
  const { labels } = matrix;
  const at = row * labels.length + column;
  const plain = textAt(matrix, at, false);
  const text = isShare ? `${textAt(matrix, at, true)}\u202f% (${plain})` : plain;
  return `${labels[row]!} read as ${row === column ? "itself" : labels[column]!}: ${text}`;
}

export function matrixRows({ labels, counts }: Matrix): CsvCell[][] {
  const { length: size } = labels;
  const rows = labels.map((label, row) => [label, ...counts.subarray(row * size, (row + 1) * size)]);
  return [["true \\ read as", ...labels], ...rows];
}
