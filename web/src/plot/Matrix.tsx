/** Numbers as a picture: rows down, with their labels beside them; the same items or something else across. */
import { useMemo } from "preact/hooks";
import { themeTick } from "../data/store";
import { paintValue, readPalette, type Scale } from "../ui/colour-scale";
import { type Room, useSize } from "../ui/useSize";
import { Pixels, shareUnder } from "../ui/Pixels";
import { labelColour, type Labelled, stretchesOf } from "./labels";
import "./matrix.css";

export interface Cell {
  readonly row: number;
  readonly column: number;
}

export interface MatrixProps {
  /** [row][column]. */
  values: Float32Array;
  numRows: number;
  numColumns: number;
  /** Of the rows. */
  of: Labelled;
  /** The same stand across, too. */
  isSquare: boolean;
  scale: Scale;
  summary: string;
  /** Under the pointer, or where the keys have led. */
  at: Cell | null;
  onAt: (cell: Cell | null) => void;
  onChoose: (cell: Cell) => void;
  /** What is chosen: outlined, whatever is pointed at. */
  chosen?: Cell;
}

const BAND = 8;
const WIDEST_NAMES = 76;
const MOST_LETTERS = 12;
const LETTER = 6.5;
const LINE = 13;

export function Matrix({ values, numRows, numColumns, of, isSquare, scale, summary, at, onAt, onChoose, chosen }: MatrixProps) {
  const [box, room] = useSize<HTMLDivElement>();
  const hasLabels = of.labels.length > 0;
  const names = namesWidth(of.labels);
  const { left, top, width, height } = frameOf(room, hasLabels ? names + BAND : 0, isSquare);
  const isThere = width > 0 && height > 0 && numRows > 0;
  const tick = themeTick.value;
  const picture = useMemo(() => {
    const [pixels, palette] = [new Uint8ClampedArray(4 * numRows * numColumns), readPalette(scale.map)];
    for (let cell = 0; cell < numRows * numColumns; cell++) paintValue(pixels, 4 * cell, values[cell]!, scale, palette);
    return { width: numColumns, height: numRows, pixels };
  }, [values, numColumns, scale.low, scale.high, scale.map, tick]);
  const cellUnder = (event: MouseEvent): Cell => {
    const [right, below] = shareUnder(event);
    return { row: inside(Math.floor(below * numRows), numRows), column: inside(Math.floor(right * numColumns), numColumns) };
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = movedCell(at, event, numRows, numColumns);
    if (next !== null) onAt(next);
    else if (event.key === "Enter" && at !== null) onChoose(at);
    else if (event.key === "Escape" && at !== null) onAt(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const frame = { left, top, width, height, down: height / Math.max(1, numRows), across: width / Math.max(1, numColumns) };
  return (
    <div class="an-room" ref={box}>
      {isThere && (
        <div
          class="an-matrix"
          style={{ width: `${width + left}px`, height: `${height + top}px` }}
          role="img"
          aria-label={summary}
          tabIndex={0}
          onKeyDown={onKeyDown}
          onPointerLeave={() => onAt(null)}
        >
          <Pixels
            picture={picture}
            style={{ left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` }}
            onPointerMove={(event) => onAt(cellUnder(event))}
            onClick={(event) => onChoose(cellUnder(event))}
          />
          <svg width={width + left} height={height + top} aria-hidden="true">
            {hasLabels && <Bands of={of} numRows={numRows} names={names} frame={frame} isSquare={isSquare} />}
            {chosen !== undefined && <Lines cell={chosen} frame={frame} isChosen />}
            {at !== null && <Lines cell={at} frame={frame} />}
          </svg>
        </div>
      )}
    </div>
  );
}

function inside(value: number, count: number): number {
  return Math.max(0, Math.min(count - 1, value));
}

/** Where a key leads from a cell, ten times as far with Shift; to the first cell from none, null for another key. */
export function movedCell(at: Cell | null, key: Pick<KeyboardEvent, "key" | "shiftKey">, numRows: number, numColumns: number): Cell | null {
  const far = key.shiftKey ? 10 : 1;
  const steps: Record<string, readonly [number, number]> = {
    ArrowDown: [far, 0],
    ArrowUp: [-far, 0],
    ArrowRight: [0, far],
    ArrowLeft: [0, -far],
    Home: [0, -numColumns],
    End: [0, numColumns],
  };
  const by = steps[key.key];
  if (by === undefined) return null;
  if (at === null) return { row: 0, column: 0 };
  return { row: inside(at.row + by[0], numRows), column: inside(at.column + by[1], numColumns) };
}

function namesWidth(labels: readonly string[]): number {
  const longest = Math.max(0, ...labels.map((label) => Math.min(MOST_LETTERS, label.length)));
  return Math.min(WIDEST_NAMES, Math.ceil(longest * LETTER) + 8);
}

interface Frame extends Room {
  readonly left: number;
  readonly top: number;
  /** The size of a cell. */
  readonly down: number;
  readonly across: number;
}

function frameOf(room: Room, left: number, isSquare: boolean): Omit<Frame, "down" | "across"> {
  const top = left > 0 && isSquare ? BAND : 0;
  const [width, height] = [Math.max(0, Math.floor(room.width - left - 2)), Math.max(0, Math.floor(room.height - top - 2))];
  const side = Math.min(width, height);
  return { left, top, ...(isSquare ? { width: side, height: side } : { width, height }) };
}

interface BandsProps extends Pick<MatrixProps, "of" | "numRows" | "isSquare"> {
  names: number;
  frame: Frame;
}

function Bands({ of, numRows, names, frame: { top, down, across }, isSquare }: BandsProps) {
  return (
    <>
      {stretchesOf(of.label_of, numRows).map(({ label, from, count }) => {
        const fill = labelColour(label, of.labels.length);
        const [start, length] = [from * down, count * down];
        const name = of.labels[label ?? 0] ?? "";
        return (
          <g key={from}>
            <rect x={names} y={top + start} width={BAND - 2} height={Math.max(1, length - 1)} fill={fill} />
            {isSquare && <rect x={names + BAND + from * across} y={0} width={Math.max(1, count * across - 1)} height={BAND - 2} fill={fill} />}
            {length >= LINE && (
              <text x={names - 4} y={top + start + length / 2 + 4} class="e">
                {name.length <= MOST_LETTERS ? name : `${name.slice(0, MOST_LETTERS - 1)}…`}
              </text>
            )}
          </g>
        );
      })}
    </>
  );
}

/** The row and the column of a cell. One that is not in the picture has the number −1. */
function Lines({ cell: { row, column }, frame, isChosen = false }: { cell: Cell; frame: Frame; isChosen?: boolean }) {
  const { left, top, width, height, down, across } = frame;
  const [x, y] = [left + column * across, top + row * down];
  const style = isChosen ? "ft-chosen" : "an-line";
  return (
    <>
      {row >= 0 && <rect class={style} x={left} y={y} width={width} height={Math.max(1, down)} />}
      {column >= 0 && <rect class={style} x={x} y={top} width={Math.max(1, across)} height={height} />}
      {!isChosen && row >= 0 && column >= 0 && (
        <rect class="an-outline" x={x} y={y} width={Math.max(2, across)} height={Math.max(2, down)} />
      )}
    </>
  );
}
