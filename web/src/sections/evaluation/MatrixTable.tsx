/** The numbers of a confusion matrix as a table. */
import { formatCount, formatValue } from "../../format";
import { countIn, percentIn, type Matrix } from "./matrix";

export function MatrixTable({ name, matrix, isShare }: { name: string; matrix: Matrix; isShare: boolean }) {
  const text = (row: number, column: number): string => {
    if (isShare) return percentIn(matrix, { row, column }).toFixed(1);
    const count = countIn(matrix, { row, column });
    return Number.isInteger(count) ? formatCount(count) : formatValue(count);
  };
  return (
    <div class="sec-scroll" tabIndex={0} role="region" aria-label={`Table of ${name}`}>
      <table class="sec-table">
        <thead>
          <tr>
            <th scope="col">true</th>
            {matrix.labels.map((label, column) => (
              <th key={column} scope="col">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {matrix.labels.map((label, row) => (
            <tr key={row}>
              <th scope="row">{label}</th>
              {matrix.labels.map((_, column) => (
                <td key={column}>{text(row, column)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
