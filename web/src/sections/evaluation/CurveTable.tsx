/** What a threshold means for each run: a row of figures. */
import { formatCount, formatValue } from "../../format";
import { RunTag } from "../RunTag";
import type { RunListing } from "../../wire";
import { averagePrecision, f1At, rocArea, thresholdPlace, type Curve } from "./curves";

export interface RunCurve {
  readonly run: RunListing;
  readonly step: number;
  readonly curve: Curve;
}

interface Props {
  name: string;
  curves: readonly RunCurve[];
  threshold: number;
}

const HEADS = [
  ["AP", "average precision"],
  ["AUC", "area under the ROC curve"],
  ["precision", ""],
  ["recall", ""],
  ["F1", ""],
  ["TP", "true positives"],
  ["FP", "false positives"],
  ["FN", "false negatives"],
  ["TN", "true negatives"],
] as const;

export function CurveTable({ name, curves, threshold }: Props) {
  return (
    <div class="sec-under">
      <table class="sec-table" aria-label={`${name} at threshold ${threshold.toFixed(2)}`}>
        <thead>
          <tr>
            <th scope="col">run</th>
            {HEADS.map(([word, meaning]) => (
              <th key={word} scope="col" title={meaning}>
                {word}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {curves.map(({ run, curve }) => (
            <tr key={run.id}>
              <th scope="row">
                <RunTag run={run} />
              </th>
              {cellsOf(curve, thresholdPlace(curve, threshold)).map((text, nth) => (
                <td key={nth}>{text}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function cellsOf(curve: Curve, at: number): string[] {
  const shares = [
    averagePrecision(curve),
    rocArea(curve),
    curve.precision[at],
    curve.recall[at],
    f1At(curve, at),
  ];
  const counts = [curve.truePositives, curve.falsePositives, curve.falseNegatives, curve.trueNegatives];
  return [...shares.map(share), ...counts.map((one) => countText(one[at] ?? NaN))];
}

/** Elements may have been counted by weight. */
function countText(count: number): string {
  return Number.isInteger(count) ? formatCount(count) : formatValue(count);
}

/** Three digits; a dash where there is nothing to divide by. */
export function share(value: number | undefined): string {
  return value === undefined || !Number.isFinite(value) ? "–" : value.toFixed(3);
}
