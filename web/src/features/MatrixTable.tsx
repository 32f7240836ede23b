/** Samples by samples as numbers, as far as a table can be read. */
import { formatCount, formatValue } from "../format";
import type { FeatureRows } from "../wire";
import { sampleName } from "./wording";

const MOST = 48;

export function MatrixTable({ rows, values }: { rows: FeatureRows; values: Float32Array }) {
  const count = rows.samples.length;
  const shown = rows.samples.slice(0, MOST);
  return (
    <div class="an-table" role="region" aria-label="Matrix of samples" tabIndex={0}>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Sample</th>
            {shown.map((sample, at) => (
              <th scope="col" key={sample}>
                {rows.ids[at]}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((sample, row) => (
            <tr key={sample}>
              <th scope="row">{sampleName(rows, row)}</th>
              {shown.map((other, column) => (
                <td key={other}>{formatValue(values[row * count + column] ?? Number.NaN, 3)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {count > MOST && <p class="muted fs-1">{formatCount(count - MOST)} more samples are not in the table.</p>}
    </div>
  );
}
