/** How each element of an output changes with each of the input, as a table. */
import { useState } from "preact/hooks";
import { stepClass } from "../../tensor/colour";
import type { BackwardStep } from "../../wire";
import { numbersOf } from "../cells";
import { scaleFor } from "../colouring";
import { cellFormat } from "../numbers";
import * as store from "../store";

export function JacobianSection({ step }: { step: BackwardStep }) {
  // Where it says what nothing else says, it is open; elsewhere it is there for who wants it.
  const [isOpen, setIsOpen] = useState<boolean | null>(null);
  const jacobian = step.jacobian;
  // While one guesses it would tell.
  if (jacobian === null || store.isHidden.value) return null;
  const { cells, rows, columns } = jacobian;
  const numbers = numbersOf(cells);
  const [format, scale] = [cellFormat(numbers), scaleFor(cells, "value")];
  const nth = store.element.value;
  const isShown = isOpen ?? step.form === "moved";
  return (
    <details class="section jacobian" aria-label="Jacobian" open={isShown} onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>
        Jacobian, {rows.length}×{columns.length}
      </summary>
      {/* It scrolls, so it can have the focus. */}
      <div class="mat-body" tabIndex={0} role="region" aria-label="Numbers of the Jacobian">
        <table>
          <thead>
            <tr>
              <td />
              {columns.map((name, column) => (
                <th key={column} scope="col" class={column === nth ? "on" : ""}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, cells.num_rows).map((name, row) => (
              <tr key={row}>
                <th scope="row">{name}</th>
                {numbers.slice(row * cells.num_columns, (row + 1) * cells.num_columns).map((value, column) => (
                  <td key={column} class={`cell ${stepClass(scale, value)} ${column === nth ? "marked" : ""}`}>
                    {format(value)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="muted fs-1">A row for each element of the output, a column for each of the input.</p>
    </details>
  );
}
