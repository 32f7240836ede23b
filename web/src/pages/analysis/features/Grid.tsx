/** Numbers as a picture: samples down, with their labels beside them; samples or units across. */
import { useEffect, useRef } from "preact/hooks";
import { themeTick } from "../../../data/store";
import type { Scale } from "../../../ui/colour-scale";
import { type Room, useSize } from "../../../ui/useSize";
import type { FeatureRows } from "../../../wire";
import { labelColour, paintNumber, readNumberInks, stretchesOf } from "../pixels";

export interface Cell {
  readonly row: number;
  readonly column: number;
}

interface Props {
  values: Float32Array;
  numColumns: number;
  rows: FeatureRows;
  /** The same samples stand across, too. */
  isSquare: boolean;
  scale: Scale;
  summary: string;
  /** Under the pointer, or where the keys have led. */
  at: Cell | null;
  onAt: (cell: Cell | null) => void;
  onChoose: (cell: Cell) => void;
  /** What is chosen: outlined, whatever is pointed at. */
  chosen?: { readonly row: number; readonly column: number };
}

const BAND = 8;
const WIDEST_NAMES = 76;
const MOST_LETTERS = 12;
const LETTER = 6.5;
const LINE = 13;

export function Grid({ values, numColumns, rows, isSquare, scale, summary, at, onAt, onChoose, chosen }: Props) {
  const [box, room] = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const numRows = rows.samples.length;
  const hasLabels = rows.labels.length > 0;
  const names = namesWidth(rows.labels);
  const { left, top, width, height } = frameOf(room, hasLabels ? names + BAND : 0, isSquare);
  const tick = themeTick.value;
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (context == null || numRows === 0 || numColumns === 0) return;
    const [pixels, inks] = [new Uint8ClampedArray(4 * numRows * numColumns), readNumberInks(scale.map)];
    for (let cell = 0; cell < numRows * numColumns; cell++) paintNumber(pixels, 4 * cell, values[cell]!, scale, inks);
    context.putImageData(new ImageData(pixels, numColumns, numRows), 0, 0);
  }, [values, numColumns, scale.low, scale.high, scale.map, tick, width > 0 && height > 0]);
  const [down, across] = [height / Math.max(1, numRows), width / Math.max(1, numColumns)];
  const cellAt = (event: MouseEvent): Cell | null => cellUnder(event, canvas.current, numRows, numColumns);
  return (
    <div class="an-room" ref={box}>
      {width > 0 && height > 0 && numRows > 0 && (
        <div
          class="an-matrix"
          style={{ width: `${width + left}px`, height: `${height + top}px` }}
          role="img"
          aria-label={summary}
          tabIndex={0}
          onKeyDown={(event) => handleKey(event, { at, numRows, numColumns, onAt, onChoose })}
          onPointerLeave={() => onAt(null)}
        >
          <canvas
            ref={canvas}
            width={numColumns}
            height={numRows}
            style={{ left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` }}
            onPointerMove={(event) => onAt(cellAt(event))}
            onClick={(event) => {
              const cell = cellAt(event);
              if (cell !== null) onChoose(cell);
            }}
          />
          <svg width={width + left} height={height + top} aria-hidden="true">
            {hasLabels && <Bands rows={rows} left={names} top={top} down={down} across={isSquare ? across : null} />}
            {chosen !== undefined && <Lines cell={chosen} {...{ left, top, down, across, width, height }} isChosen />}
            {at !== null && <Lines cell={at} {...{ left, top, down, across, width, height }} />}
          </svg>
        </div>
      )}
    </div>
  );
}

/** Room for the names of labels beside the picture. */
function namesWidth(labels: readonly string[]): number {
  const longest = Math.max(0, ...labels.map((label) => Math.min(MOST_LETTERS, label.length)));
  return Math.min(WIDEST_NAMES, Math.ceil(longest * LETTER) + 8);
}

function frameOf(room: Room, left: number, isSquare: boolean): { left: number; top: number; width: number; height: number } {
  const top = left > 0 && isSquare ? BAND : 0;
  const [width, height] = [Math.max(0, Math.floor(room.width - left - 2)), Math.max(0, Math.floor(room.height - top - 2))];
  const side = Math.min(width, height);
  return { left, top, ...(isSquare ? { width: side, height: side } : { width, height }) };
}

function cellUnder(event: MouseEvent, canvas: HTMLCanvasElement | null, numRows: number, numColumns: number): Cell | null {
  const area = canvas?.getBoundingClientRect();
  if (area === undefined || area.width === 0) return null;
  const place = (part: number, count: number): number => Math.max(0, Math.min(count - 1, Math.floor(part * count)));
  return {
    row: place((event.clientY - area.top) / area.height, numRows),
    column: place((event.clientX - area.left) / area.width, numColumns),
  };
}

interface Keys extends Pick<Props, "at" | "onAt" | "onChoose"> {
  numRows: number;
  numColumns: number;
}

function handleKey(event: KeyboardEvent, { at, numRows, numColumns, onAt, onChoose }: Keys): void {
  const far = event.shiftKey ? 10 : 1;
  const steps: Record<string, readonly [number, number]> = {
    ArrowDown: [far, 0],
    ArrowUp: [-far, 0],
    ArrowRight: [0, far],
    ArrowLeft: [0, -far],
    Home: [0, -numColumns],
    End: [0, numColumns],
  };
  const by = steps[event.key];
  if (by !== undefined) {
    const inside = (value: number, count: number): number => Math.max(0, Math.min(count - 1, value));
    onAt(at === null ? { row: 0, column: 0 } : { row: inside(at.row + by[0], numRows), column: inside(at.column + by[1], numColumns) });
  } else if (event.key === "Enter" && at !== null) onChoose(at);
  else if (event.key === "Escape" && at !== null) onAt(null);
  else return;
  event.preventDefault();
  event.stopPropagation();
}

interface BandsProps {
  rows: FeatureRows;
  left: number;
  top: number;
  down: number;
  /** Null where something else stands across. */
  across: number | null;
}

function Bands({ rows, left, top, down, across }: BandsProps) {
  const stretches = stretchesOf(rows.samples.map((_, at) => at), { label_of: [...rows.label_of] });
  return (
    <>
      {stretches.map(({ label, from, count }, one) => {
        const fill = labelColour(label, rows.labels.length);
        const [start, length] = [from * down, count * down];
        return (
          <g key={one}>
            <rect x={left} y={top + start} width={BAND - 2} height={Math.max(1, length - 1)} fill={fill} />
            {across !== null && (
              <rect x={left + BAND + from * across} y={0} width={Math.max(1, count * across - 1)} height={BAND - 2} fill={fill} />
            )}
            {length >= LINE && (
              <text x={left - 4} y={top + start + length / 2 + 4} class="e">
                {shortened(rows.labels[label ?? 0] ?? "")}
              </text>
            )}
          </g>
        );
      })}
    </>
  );
}

interface LinesProps {
  cell: Cell;
  left: number;
  top: number;
  down: number;
  across: number;
  width: number;
  height: number;
  isChosen?: boolean;
}

/** The row and the column of a cell. One that is not in the picture has the number −1. */
function Lines({ cell: { row, column }, left, top, down, across, width, height, isChosen = false }: LinesProps) {
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

function shortened(text: string, most = MOST_LETTERS): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}
