/** One series of PR curves: all runs in one chart, ROC beside it, and what the threshold makes of them. */
import { useRef } from "preact/hooks";
import { formatCount, formatValue } from "../../../data/format";
import { attempt } from "../../../data/message-of";
import type { FullRecord } from "../../../data/requests";
import { colourSlot } from "../../../data/runs";
import { fileName, save, toCsv } from "../../../data/save-file";
import { Figure, RunTag, Slider, ToolButton, Waiting } from "../../../plot/Figure";
import { threshold } from "../../../plot/figure-options";
import { Lines, SmallChart } from "../../../plot/SmallChart";
import type { Holder, Stepped } from "../../../plot/useRecords";
import { labelled } from "../../../plot/ticks";
import { useNear } from "../../../ui/useWidth";
import type { RunListing } from "../../../wire";
import { stepByKey, StepSlider, useShown } from "../Series";
import {
  averagePrecision,
  type Curve,
  CURVE_COLUMNS,
  curveRows,
  f1At,
  type Point,
  prPoints,
  readCurve,
  rocArea,
  rocAt,
  rocPoints,
  thresholdPlace,
} from "./curves";

const HEIGHT = 200;
const NOTHING: ReadonlyMap<string, FullRecord> = new Map();

export function PrCurves({ name }: { name: string }) {
  const place = useRef<HTMLDivElement>(null);
  const { holders, stepped, records, problem, retry } = useShown("pr_curve", name, useNear(place));
  const { curves, damage } = curvesOf(holders, records ?? NOTHING);
  const at = threshold.value;
  const hasCurves = curves.length > 0;
  return (
    <div ref={place} class="sec-pair sec-curves" role="group" aria-label={`${name}, precision and recall`}>
      <Figure
        title={name}
        hint={`${name}, precision over recall`}
        remark={
          hasCurves ? `step ${formatCount(stepped.step)} · AP ${bests(curves, averagePrecision)}` : undefined
        }
        tools={<SaveCurves name={name} curves={curves} />}
        onKeyDown={(event) => stepByKey(event, stepped)}
      >
        {!hasCurves ? (
          <Waiting problem={problem || damage} height={HEIGHT} retry={retry} />
        ) : (
          <>
            <CurveChart
              label={`Precision over recall of ${name} at step ${formatCount(stepped.step)}, average precision ${bests(curves, averagePrecision)}`}
              none="No positives: no curve"
              lines={curves.map(({ run, curve }) => {
                const nth = thresholdPlace(curve, at);
                return {
                  runId: run.id,
                  points: prPoints(curve),
                  mark: { x: curve.recall[nth]!, y: curve.precision[nth]! },
                };
              })}
            />
            <ThresholdSlider name={name} numThresholds={curves[0]!.curve.numThresholds} />
            <StepRow name={name} stepped={stepped} />
          </>
        )}
      </Figure>
      <Figure
        title="ROC"
        hint={`${name}, ROC`}
        remark={hasCurves ? `area ${bests(curves, rocArea)}` : undefined}
      >
        {!hasCurves ? (
          <Waiting problem="" height={HEIGHT} retry={retry} />
        ) : (
          <CurveChart
            label={`ROC of ${name}: true over false positive rate, area ${bests(curves, rocArea)}`}
            hasDiagonal
            none="No positives or no negatives: no curve"
            lines={curves.map(({ run, curve }) => ({
              runId: run.id,
              points: rocPoints(curve),
              mark: rocAt(curve, thresholdPlace(curve, at)),
            }))}
          />
        )}
      </Figure>
      {hasCurves && <CurveTable name={name} curves={curves} threshold={at} />}
    </div>
  );
}

function StepRow({ name, stepped }: { name: string; stepped: Stepped }) {
  if (stepped.steps.length < 2) return null;
  return (
    <div class="sec-field">
      <span>Step</span>
      <StepSlider name={name} stepped={stepped} />
    </div>
  );
}

function ThresholdSlider({ name, numThresholds }: { name: string; numThresholds: number }) {
  const last = Math.max(1, numThresholds - 1);
  return (
    <div class="sec-field">
      <span>Threshold</span>
      <div class="sec-slider">
        <Slider
          label={`Threshold of ${name}`}
          text={threshold.value.toFixed(3)}
          at={Math.round(threshold.value * last)}
          last={last}
          set={(to) => threshold.set(to / last)}
        />
        <span class="sec-out">{threshold.value.toFixed(2)}</span>
        <span class="sec-room" />
      </div>
    </div>
  );
}

function SaveCurves({ name, curves }: { name: string; curves: readonly RunCurve[] }) {
  const press = (): void => {
    const rows = curves.flatMap(({ run, step, curve }) =>
      curveRows(curve).map((row) => [run.name, step, ...row]),
    );
    save(fileName([name], "csv"), toCsv([["run", "step", ...CURVE_COLUMNS], ...rows]), "text/csv");
  };
  return (
    <ToolButton glyph="save" name={`Save ${name} as CSV`} isDisabled={curves.length === 0} press={press} />
  );
}

interface Read {
  readonly curves: readonly RunCurve[];
  /** Why a record could not be read; empty where all could. */
  readonly damage: string;
}

function curvesOf(holders: readonly Holder[], records: ReadonlyMap<string, FullRecord>): Read {
  const curves: RunCurve[] = [];
  let damage = "";
  for (const { run } of holders) {
    const record = records.get(run.id);
    if (record === undefined) continue;
    const { value: curve, problem } = attempt(() => readCurve(record));
    if (curve !== null) curves.push({ run, step: record.entry.step, curve });
    else damage = problem;
  }
  return { curves, damage };
}

/** The figure of the run, or the least and the greatest of several. */
function bests(curves: readonly RunCurve[], figure: (curve: RunCurve["curve"]) => number): string {
  const values = curves.map(({ curve }) => figure(curve)).filter(Number.isFinite);
  if (values.length === 0) return "–";
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return low === high ? share(low) : `${share(low)} to ${share(high)}`;
}

interface RunCurve {
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

/** What a threshold means for each run: a row of figures. */
function CurveTable({ name, curves, threshold }: Props) {
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
function share(value: number | undefined): string {
  return value === undefined || !Number.isFinite(value) ? "–" : value.toFixed(3);
}

const AXIS = { low: 0, high: 1, ticks: labelled([0, 0.25, 0.5, 0.75, 1]) };

interface CurveLine {
  readonly runId: string;
  readonly points: readonly Point[];
  /** At the threshold; NaN where there is none. */
  readonly mark: Point;
}

interface CurveChartProps {
  label: string;
  lines: readonly CurveLine[];
  /** What is said where there is no curve at all. */
  none: string;
  /** The line of a guess, from corner to corner. */
  hasDiagonal?: boolean;
}

/** Curves of several runs from 0 to 1 on both axes, with a point on each at the threshold. */
function CurveChart({ label, lines, none, hasDiagonal = false }: CurveChartProps) {
  const marked = lines.filter(({ mark }) => isKnown(mark));
  const first = marked[0]?.mark;
  const colourOf = (runId: string): string => `var(--cat-${colourSlot(runId)})`;
  return (
    <SmallChart
      label={label}
      height={(width) => Math.max(150, Math.min(260, Math.round(width * 0.66)))}
      x={() => AXIS}
      y={AXIS}
      over={({ x, y, left, bottom }) => (
        <>
          {lines.every(({ points }) => points.length === 0) && (
            <text class="c" x={x(0.5)} y={y(0.5)}>
              {none}
            </text>
          )}
          {first !== undefined && <path class="cursor" d={`M${x(first.x)} ${bottom}V${y(first.y)}H${left}`} />}
          {marked.map(({ runId, mark }) => (
            <circle key={runId} class="sec-point" style={{ fill: colourOf(runId) }} r={4} cx={x(mark.x)} cy={y(mark.y)} />
          ))}
        </>
      )}
    >
      {(space) => (
        <>
          {hasDiagonal && <path class="grid" d={`M${space.left} ${space.bottom}L${space.right} ${space.top}`} />}
          <Lines
            lines={lines.map(({ runId, points }, nth) => ({
              ...{ name: runId, colour: colourOf(runId), x: points.map(({ x }) => x), y: points.map(({ y }) => y), end: "none" as const },
              // From the fifth line on colours alone do not tell them apart.
              ...(nth >= 4 ? { look: "dashed" as const } : {}),
            }))}
            space={space}
          />
        </>
      )}
    </SmallChart>
  );
}

function isKnown({ x, y }: Point): boolean {
  return Number.isFinite(x) && Number.isFinite(y);
}
