/** Numbers in coloured cells, with what they are below them. Where one can be chosen, the arrow keys go through them. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { formatExact, formatShape } from "../../../data/format";
import { stepClass } from "../../../ui/colour-scale";
import type { Cells } from "../../../wire";
import { cellFormat, factorText, indexOf, type Ink, numbersOf, resultText, scaleFor } from "../cells";

interface Props {
  cells: Cells;
  ink: Ink;
  /** What it is, below it; its shape stands behind that. */
  label: string;
  /** Outlined. */
  marked?: ReadonlySet<number>;
  isSecret?: boolean;
  onHover?: (nth: number | null) => void;
  /** The one that has the focus, where one can be chosen. */
  active?: number;
  onActive?: (nth: number) => void;
  /** Of one with cells to choose. */
  role?: "grid" | "table";
}

const STEPS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowRight: [0, 1],
  ArrowLeft: [0, -1],
  ArrowDown: [1, 0],
  ArrowUp: [-1, 0],
};

export function NumberTable({ cells, ink, label, marked, isSecret = false, onHover, active, onActive, role = "grid" }: Props) {
  const table = useRef<HTMLTableElement>(null);
  const hadFocus = useRef(false);
  const columns = Math.max(1, cells.num_columns);
  const numbers = numbersOf(cells);
  const [format, scale] = [cellFormat(numbers), scaleFor(cells, ink)];
  // The focus goes with the active cell, and never the other way.
  useLayoutEffect(() => {
    if (hadFocus.current) table.current?.querySelector<HTMLElement>("[tabindex='0']")?.focus();
  }, [active]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = STEPS[event.key];
    if (by === undefined || active === undefined || event.shiftKey) return;
    event.preventDefault();
    const [row, column] = [Math.floor(active / columns) + by[0], (active % columns) + by[1]];
    const isInside = row >= 0 && row < cells.num_rows && column >= 0 && column < columns;
    if (isInside) onActive?.(row * columns + column);
  };
  const isGrid = active !== undefined;
  const chosenOf = (nth: number) =>
    isGrid && { tabIndex: nth === active ? 0 : -1, [role === "grid" ? "aria-selected" : "aria-current"]: nth === active };
  return (
    <figure class="mat">
      <div class="mat-body">
        <table
          ref={table}
          role={isGrid ? role : undefined}
          aria-label={label}
          class={columns > 5 ? "narrow" : ""}
          onKeyDown={isGrid ? onKeyDown : undefined}
          onFocusCapture={() => (hadFocus.current = true)}
          onBlurCapture={() => (hadFocus.current = false)}
          onPointerLeave={() => onHover?.(null)}
        >
          <tbody>
            {Array.from({ length: cells.num_rows }, (_, row) => (
              <tr key={row}>
                {numbers.slice(row * columns, (row + 1) * columns).map((value, column) => {
                  const nth = row * columns + column;
                  const exact = formatExact(value, "f8");
                  return (
                    <td
                      key={column}
                      class={`${isSecret ? "secret" : `cell ${stepClass(scale, value)}`} ${marked?.has(nth) === true ? "marked" : ""}`}
                      {...chosenOf(nth)}
                      title={isSecret ? undefined : `[${indexOf(cells, nth).join(", ")}] ${exact}`}
                      data-exact={isSecret ? undefined : exact}
                      onPointerEnter={() => onHover?.(nth)}
                      onClick={() => onActive?.(nth)}
                    >
                      {isSecret ? "?" : format(value)}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <figcaption>
        {label}, {formatShape(cells.shape)}
        {!cells.is_whole && `; the first ${cells.num_rows}×${cells.num_columns} are shown`}
      </figcaption>
    </figure>
  );
}

interface ElementLineProps {
  name: string;
  total: number;
  /** What makes it; null where nothing does, or it is the same. */
  children: ComponentChildren;
}

/** How the element that is looked at came about, written out. */
export function ElementLine({ name, total, children }: ElementLineProps) {
  return (
    <div class="element" data-testid="element">
      <span class="mono">{name}</span>
      <span class="working">
        {children}
        {children !== null && <span class="muted"> = </span>}
        <b>{resultText(total)}</b>
      </span>
    </div>
  );
}

/** More than this are only counted. */
const MOST_TERMS = 6;

/** A sum of products, written out. */
export function Terms({ terms }: { terms: readonly (readonly number[])[] }) {
  if (terms.length === 0) return <span>0</span>;
  const more = terms.length - MOST_TERMS;
  return (
    <>
      {terms.slice(0, MOST_TERMS).map((factors, at) => (
        <span key={at}>
          {at > 0 && <span class="muted"> + </span>}
          <span class="term">
            {factors.map((factor, place) => (
              <span key={place}>
                {place > 0 && <span class="muted"> × </span>}
                {factorText(factor, at === 0 && place === 0)}
              </span>
            ))}
          </span>
        </span>
      ))}
      {more > 0 && <span class="muted"> + {more} more</span>}
    </>
  );
}
