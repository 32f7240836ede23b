/** Exact values in a grid that can be moved over the tensor. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { formatExact, gridFormat } from "../../data/format";
import type { TensorValues } from "../../data/source";
import {
  type AxisName,
  clampStart,
  fullReach,
  indexOf,
  PAGE_COLUMNS,
  pageSize,
  pageWindow,
  type Reach,
  reachOf,
  type Start,
  startFor,
  stripAxis,
  windowText,
} from "../../data/tensor-window";
import type { IconName } from "../../ui/Icon";
import { IconButton } from "../../ui/IconButton";
import { type Scale, stepClass } from "../../ui/colour-scale";
import { useWidth } from "../../ui/useWidth";
import { Section } from "./Facts";
import { textWidth } from "./ItemStepper";
import type { AnyTensor } from "./subjects";
import { useWindow } from "./useTensor";

interface Props {
  subject: AnyTensor;
  base: TensorValues;
  scale: Scale;
  start: Start;
  /** Move from where it is now, which may be further than what is on screen. */
  onMove: (change: (now: Start) => Start) => void;
  canMove: boolean;
}

export function Numbers({ subject, base, scale, start, onMove, canMove }: Props) {
  const { shape, window } = base.view;
  const reach = canMove ? fullReach(shape, window.item) : reachOf(window);
  const [box, width] = useWidth<HTMLDivElement>(320);
  const columns = columnsFor(width, textWidth);
  const page = pageWindow(reach, start, columns);
  const shown = useWindow(subject, base, page);
  const [active, setActive] = useState(0);
  const move = (axis: AxisName, by: number): void =>
    onMove((now) => {
      const from = clampStart(reach, now, columns);
      return clampStart(reach, { ...from, [axis]: from[axis] + by }, columns);
    });
  const values = shown.values;
  const at = Math.min(active, (values?.values.length ?? 1) - 1);
  const goTo = (index: readonly number[]): string =>
    goToIndex(reach, shape, window.item, index, (to) => onMove(() => to), canMove);
  return (
    <Section
      title="Numbers"
      remark={<span class="mono">{windowText(shape, values?.view.window ?? page)}</span>}
    >
      <div ref={box} />
      {shown.missing !== null && <p class="note fs-1">{shown.missing}</p>}
      {values !== null && (
        <>
          <NumberGrid
            values={values}
            scale={scale}
            columns={stripAxis(reach) === null ? values.view.window.num_columns : columns}
            fits={(text) => textWidth(text) <= roomFor(width, columns)}
            active={at}
            onActive={setActive}
            onEdge={(down, across) => edge(reach, down, across, columns, move)}
          />
          <p class="exact mono fs-1" aria-live="polite" data-testid="exact-value">
            [{indexOf(shape, values.view.window, at).join(", ")}] ={" "}
            {formatExact(values.values[at] ?? NaN, values.view.encoding)}
          </p>
        </>
      )}
      <div class="row number-tools">
        <MoveButtons
          reach={reach}
          start={clampStart(reach, start, columns)}
          size={pageSize(reach, columns)}
          onMove={move}
        />
        <span class="grow" />
        {shape.length > 0 && <GoToIndex shape={shape} onGo={goTo} />}
      </div>
    </Section>
  );
}

/** The arrow keys at the edge of the grid move the grid. */
function edge(
  reach: Reach,
  down: number,
  across: number,
  columns: number,
  move: (axis: AxisName, by: number) => void,
): void {
  const strip = stripAxis(reach);
  if (strip !== null) move(strip, down === 0 ? across : down * columns);
  else if (down !== 0) move("rows", down);
  else move("columns", across);
}

/** Move to an index that was typed; a sentence where that cannot be. */
function goToIndex(
  reach: Reach,
  shape: readonly number[],
  item: readonly number[],
  index: readonly number[],
  onMove: (start: Start) => void,
  canMove: boolean,
): string {
  if (index.length !== shape.length) return `This tensor has ${shape.length} dimensions.`;
  const outside = index.findIndex((at, dim) => at < 0 || at >= shape[dim]!);
  if (outside >= 0) return `Dimension ${outside} goes from 0 to ${shape[outside]! - 1}.`;
  if (index.slice(0, item.length).join() !== item.join()) {
    return canMove ? "Choose the item above first." : "This item is not in this file.";
  }
  const start = startFor(reach, shape, index);
  if (start === null) return "This value is not in this file.";
  onMove(start);
  return "";
}

// --- How many columns of numbers have room beside one another, and which texts have room in one.

const GAP = 1;
/** Left and right of the text; as in data.css. */
const PADDING = 3;
const FEWEST = 3;

/** A number as wide as most are: a sign and four digits. */
const USUAL = "\u22120.000";

export function columnsFor(width: number, widthOf: (text: string) => number): number {
  const each = widthOf(USUAL) + PADDING + GAP;
  return Math.max(FEWEST, Math.min(PAGE_COLUMNS, Math.floor((width - GAP) / each)));
}

/** Room for the text of one cell. */
export function roomFor(width: number, columns: number): number {
  return (width - GAP * (columns + 1)) / columns - PADDING;
}

// --- A field for an index: `0, 17, 12, 4`.

interface GoToIndexProps {
  shape: readonly number[];
  /** Goes there, or says in a sentence why not. */
  onGo: (index: readonly number[]) => string;
}

function GoToIndex({ shape, onGo }: GoToIndexProps) {
  const [error, setError] = useState("");
  const go = (text: string): void => {
    const parts = text
      .replace(/^\s*\[|\]\s*$/g, "")
      .split(/[\s,]+/)
      .filter(Boolean);
    if (parts.length === 0) setError("");
    else if (parts.every((part) => /^\d+$/.test(part))) setError(onGo(parts.map(Number)));
    else setError("An index is whole numbers, one for each dimension.");
  };
  return (
    <span class="go-to">
      <input
        class={error === "" ? "input sm mono" : "input sm mono bad"}
        type="text"
        aria-label="Go to index"
        aria-invalid={error !== ""}
        placeholder={shape.map(() => "0").join(", ")}
        onKeyDown={(event) => {
          if (event.key === "Enter") go(event.currentTarget.value);
        }}
        onChange={(event) => go(event.currentTarget.value)}
      />
      {error !== "" && (
        <span class="hint" role="alert">
          {error}
        </span>
      )}
    </span>
  );
}

// --- Buttons that move the grid of numbers by a page.

interface MoveButtonsProps {
  reach: Reach;
  start: Start;
  size: Start;
  onMove: (axis: AxisName, by: number) => void;
}

interface Move {
  readonly axis: AxisName;
  readonly sign: 1 | -1;
  readonly icon: IconName;
  readonly label: string;
}

const GRID_MOVES: readonly Move[] = [
  { axis: "columns", sign: -1, icon: "left", label: "Columns before" },
  { axis: "columns", sign: 1, icon: "right", label: "Columns after" },
  { axis: "rows", sign: -1, icon: "up", label: "Rows before" },
  { axis: "rows", sign: 1, icon: "down", label: "Rows after" },
];

function MoveButtons({ reach, start, size, onMove }: MoveButtonsProps) {
  const strip = stripAxis(reach);
  const moves: readonly Move[] =
    strip === null
      ? GRID_MOVES
      : [
          { axis: strip, sign: -1, icon: "left", label: "Values before" },
          { axis: strip, sign: 1, icon: "right", label: "Values after" },
        ];
  const canGo = ({ axis, sign }: Move): boolean =>
    sign < 0 ? start[axis] > 0 : start[axis] + size[axis] < reach[axis].count;
  return (
    <div class="group" role="group" aria-label="Move the grid">
      {moves.map((move) => (
        <IconButton key={move.label} icon={move.icon} label={move.label} disabled={!canGo(move)} onClick={() => onMove(move.axis, move.sign * size[move.axis])} />
      ))}
    </div>
  );
}

// --- The grid itself: coloured cells, one of them active, moved through by the arrow keys.

interface NumberGridProps {
  values: TensorValues;
  scale: Scale;
  columns: number;
  /** Has a text room in a cell? */
  fits: (text: string) => boolean;
  active: number;
  onActive: (nth: number) => void;
  /** The arrow keys led out of the grid: by so many rows or columns. */
  onEdge: (rows: number, columns: number) => void;
}

function NumberGrid({ values, scale, columns, fits, active, onActive, onEdge }: NumberGridProps) {
  const table = useRef<HTMLTableElement>(null);
  const hadFocus = useRef(false);
  const { view } = values;
  const numbers = Array.from(values.values);
  const rows = Math.ceil(numbers.length / Math.max(1, columns));
  const format = gridFormat(numbers, fits);
  // The focus goes with the active cell, and never the other way: quick keys would make them chase each other.
  useLayoutEffect(() => {
    if (hadFocus.current) table.current?.querySelector<HTMLElement>("[tabindex='0']")?.focus();
  }, [active]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const [down, across] = [step[0]!, step[1]!];
    const [row, column] = [Math.floor(active / columns) + down, (active % columns) + across];
    const next = row * columns + column;
    const isInside = row >= 0 && row < rows && column >= 0 && column < columns && next < numbers.length;
    if (isInside) onActive(next);
    else onEdge(down, across);
  };
  return (
    <table
      ref={table}
      class="nums"
      role="grid"
      aria-label="Values"
      onKeyDown={onKeyDown}
      onFocusCapture={() => (hadFocus.current = true)}
      onBlurCapture={() => (hadFocus.current = false)}
    >
      <tbody>
        {Array.from({ length: rows }, (_, row) => (
          <tr key={row}>
            {numbers.slice(row * columns, (row + 1) * columns).map((value, column) => {
              const nth = row * columns + column;
              const exact = formatExact(value, view.encoding);
              return (
                <td
                  key={column}
                  class={`cell ${stepClass(scale, value)}`}
                  tabIndex={nth === active ? 0 : -1}
                  aria-selected={nth === active}
                  title={`[${indexOf(view.shape, view.window, nth).join(", ")}]\n${exact}`}
                  data-exact={exact}
                  onClick={() => onActive(nth)}
                >
                  {format(value)}
                </td>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
