/** The grid itself: coloured cells, one of them active, moved through by the arrow keys. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { formatExact, gridFormat } from "../format";
import type { TensorValues } from "../source/source";
import { stepClass, type Scale } from "../tensor/colour";
import { indexOf } from "../tensor/window";

interface Props {
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

export function NumberGrid({ values, scale, columns, fits, active, onActive, onEdge }: Props) {
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
