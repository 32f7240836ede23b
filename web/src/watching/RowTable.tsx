/** The figures of a row as numbers, one line for each stretch of steps. */
import { formatCount } from "../format";
import { figureOf, formatFigure } from "./figures";
import { columnOf, hasColumn, isEstimate, sampleText, type RowFigures } from "./rowfigures";
import * as state from "./state";

export function RowTable({ figures }: { figures: RowFigures }) {
  const names = [...figures.columns.keys()].filter((name) => hasColumn(figures, name));
  const { firstSteps, lastSteps } = figures;
  const step = state.step.value;
  return (
    <div class="row-table">
      <table class="table" aria-label="Figures over steps">
        <thead>
          <tr>
            <th>step</th>
            {names.map((name) => (
              <th key={name} title={figureOf(name).hint}>
                {figureOf(name).title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {firstSteps.map((first, at) => (
            <tr key={first} aria-selected={step !== null && step >= first && step <= lastSteps[at]!}>
              <td>
                <button class="link" onClick={() => state.chooseRow(figures.name, lastSteps[at]!)}>
                  {first === lastSteps[at] ? formatCount(first) : `${formatCount(first)}\u2013${formatCount(lastSteps[at]!)}`}
                </button>
              </td>
              {names.map((name) => {
                const value = columnOf(figures, name)[at]!;
                return (
                  <td
                    key={name}
                    class={(name === "nan" || name === "inf") && value > 0 ? "bad" : ""}
                    title={sampleText(figures, name, at)}
                  >
                    {Number.isNaN(value)
                      ? "\u2013"
                      : formatFigure(figureOf(name), value, { digits: 4, isEstimate: isEstimate(figures, name, at) })}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
