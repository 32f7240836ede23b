/** Exact values in a grid that can be moved over the tensor. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { obtain } from "../../data/collections";
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
  reachOf,
  startFor,
  stripAxis,
  windowText,
} from "../../data/tensor-window";
import type { IconName } from "../../ui/Icon";
import { IconButton } from "../../ui/IconButton";
import { type Scale, stepClass } from "../../ui/colour-scale";
import { actOn } from "../../ui/keys";
import { useWidth } from "../../ui/useWidth";
import { Section } from "./Facts";
import type { TensorLook } from "./Picture";
import { useWindow } from "./useTensor";

export function Numbers({ subject, base, scale, start, onStart, canMove }: TensorLook) {
  const { shape, window } = base.view;
  const { item } = window;
  const reach = canMove ? fullReach(shape, item) : reachOf(window);
  const [box, width] = useWidth<HTMLDivElement>(320);
  const columns = columnsFor(width, textWidth);
  const page = pageWindow(reach, start, columns);
  const { values, missing } = useWindow(subject, base, page);
  const [active, setActive] = useState(0);
  const strip = stripAxis(reach);
  const move = (axis: AxisName, by: number): void =>
    onStart((now) => {
      const from = clampStart(reach, now, columns);
      return clampStart(reach, { ...from, [axis]: from[axis] + by }, columns);
    });
  /** The arrow keys at the edge of the grid move the grid. */
  const edge = (down: number, across: number): void => {
    if (strip !== null) move(strip, down === 0 ? across : down * columns);
    else if (down !== 0) move("rows", down);
    else move("columns", across);
  };
  /** Move to an index that was typed; a sentence where that cannot be. */
  const goTo = (index: readonly number[]): string => {
    if (index.length !== shape.length) return `This tensor has ${shape.length} dimensions.`;
    const outside = index.findIndex((at, dim) => at < 0 || at >= shape[dim]!);
    if (outside >= 0) return `Dimension ${outside} goes from 0 to ${shape[outside]! - 1}.`;
    if (index.slice(0, item.length).join() !== item.join())
      return canMove ? "Choose the item above first." : "This item is not in this file.";
    const to = startFor(reach, shape, index);
    if (to === null) return "This value is not in this file.";
    onStart(() => to);
    return "";
  };
  const from = clampStart(reach, start, columns);
  const size = pageSize(reach, columns);
  const moves: readonly Move[] =
    strip === null ? GRID_MOVES : [[strip, -1, "left", "Values before"], [strip, 1, "right", "Values after"]];
  const canGo = (axis: AxisName, sign: 1 | -1): boolean =>
    sign < 0 ? from[axis] > 0 : from[axis] + size[axis] < reach[axis].count;
  const at = Math.min(active, (values?.values.length ?? 1) - 1);
  return (
    <Section
      title="Numbers"
      remark={<span class="mono">{windowText(shape, values?.view.window ?? page)}</span>}
    >
      <div ref={box} />
      {missing !== null && <p class="note fs-1">{missing}</p>}
      {values !== null && (
        <>
          <NumberGrid
            values={values}
            scale={scale}
            columns={strip === null ? values.view.window.num_columns : columns}
            fits={(text) => textWidth(text) <= roomFor(width, columns)}
            active={at}
            onActive={setActive}
            onEdge={edge}
          />
          <p class="exact mono fs-1" aria-live="polite" data-testid="exact-value">
            [{indexOf(shape, values.view.window, at).join(", ")}] ={" "}
            {formatExact(values.values[at] ?? NaN, values.view.encoding)}
          </p>
        </>
      )}
      <div class="row number-tools">
        <div class="group" role="group" aria-label="Move the grid">
          {moves.map(([axis, sign, icon, label]) => (
            <IconButton key={label} icon={icon} label={label} disabled={!canGo(axis, sign)} onClick={() => move(axis, sign * size[axis])} />
          ))}
        </div>
        <span class="grow" />
        {shape.length > 0 && <GoToIndex shape={shape} onGo={goTo} />}
      </div>
    </Section>
  );
}

type Move = readonly [axis: AxisName, sign: 1 | -1, icon: IconName, label: string];

const GRID_MOVES: readonly Move[] = [
  ["columns", -1, "left", "Columns before"],
  ["columns", 1, "right", "Columns after"],
  ["rows", -1, "up", "Rows before"],
  ["rows", 1, "down", "Rows after"],
];

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

export function roomFor(width: number, columns: number): number {
  return (width - GAP * (columns + 1)) / columns - PADDING;
}

const SIZE = 11; // --fs-1, of the cells
const GUESS = 6; // for a letter, where nothing can be measured
const widths = new Map<string, number>();
let ruler: CanvasRenderingContext2D | null | undefined;

/** How wide a number is on screen, in pixels. All digits are as wide as a nought, as they are in the grid. */
export function textWidth(text: string): number {
  if (ruler === undefined) {
    ruler = document.createElement("canvas").getContext("2d");
    const family = getComputedStyle(document.documentElement).getPropertyValue("--font").trim();
    if (ruler !== null) ruler.font = `${SIZE}px ${family === "" ? "sans-serif" : family}`;
  }
  const shape = text.replaceAll(/[0-9]/g, "0");
  return obtain(widths, shape, () => ruler?.measureText(shape).width ?? shape.length * GUESS);
}

interface GoToIndexProps {
  shape: readonly number[];
  /** Goes there, or says in a sentence why not. */
  onGo: (index: readonly number[]) => string;
}

/** A field for an index: `0, 17, 12, 4`. */
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

interface NumberGridProps {
  values: TensorValues;
  scale: Scale;
  columns: number;
  fits: (text: string) => boolean;
  active: number;
  onActive: (nth: number) => void;
  /** The arrow keys led out of the grid: by so many rows or columns. */
  onEdge: (rows: number, columns: number) => void;
}

/** The grid itself: coloured cells, one of them active, moved through by the arrow keys. */
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
  const step = (down: number, across: number) => (): void => {
    const column = (active % columns) + across;
    const next = active + down * columns + across;
    const isInside = column >= 0 && column < columns && next >= 0 && next < numbers.length;
    if (isInside) onActive(next);
    else onEdge(down, across);
  };
  return (
    <table
      ref={table}
      class="nums"
      role="grid"
      aria-label="Values"
      onKeyDown={(event) =>
        actOn(event, { ArrowRight: step(0, 1), ArrowLeft: step(0, -1), ArrowDown: step(1, 0), ArrowUp: step(-1, 0) })
      }
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
