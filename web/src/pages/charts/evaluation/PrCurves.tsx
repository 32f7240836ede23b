/** One series of PR curves: all runs in one chart, ROC beside it, and what the threshold makes of them. */
import { useRef } from "preact/hooks";
import { formatCount, formatValue } from "../../../data/format";
import { attempt } from "../../../data/message-of";
import type { FullRecord } from "../../../data/requests";
import { colourSlot } from "../../../data/runs";
import { fileName, save, toCsv } from "../../../data/save-file";
import { Figure, RunTag, Slider, ToolButton, Waiting } from "../../../plot/Figure";
import { TableTwin } from "../../../plot/NumberTable";
import { Lines, SmallChart } from "../../../plot/SmallChart";
import { threshold } from "../../../plot/figure-options";
import type { Line } from "../../../plot/lines";
import { labelled } from "../../../plot/ticks";
import type { Holder } from "../../../plot/useRecords";
import { useNear } from "../../../ui/useWidth";
import type { RunListing } from "../../../wire";
import { stepByKey, StepSlider, useShown } from "../Series";
import {
  averagePrecision,
  type Curve,
  CURVE_COLUMNS,
  curveRows,
  f1At,
  isKnown,
  type Point,
  prAt,
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
  const step = formatCount(stepped.step);
  const [precision, area] = [bests(curves, averagePrecision), bests(curves, rocArea)];
  const take = (): void => {
    const rows = curves.flatMap(({ run, step: its, curve }) => curveRows(curve).map((row) => [run.name, its, ...row]));
    save(fileName([name], "csv"), toCsv([["run", "step", ...CURVE_COLUMNS], ...rows]), "text/csv");
  };
  return (
    <div ref={place} class="sec-pair sec-curves" role="group" aria-label={`${name}, precision and recall`}>
      <Figure
        title={name}
        hint={`${name}, precision over recall`}
        remark={hasCurves ? `step ${step} · AP ${precision}` : undefined}
        tools={<ToolButton glyph="save" name={`Save ${name} as CSV`} isDisabled={!hasCurves} press={take} />}
        onKeyDown={(event) => stepByKey(event, stepped)}
      >
        {hasCurves ? (
          <>
            <CurveChart
              label={`Precision over recall of ${name} at step ${step}, average precision ${precision}`}
              none="No positives: no curve"
              curves={curves}
              pointsOf={prPoints}
              markAt={prAt}
            />
            <ThresholdSlider name={name} numThresholds={curves[0]!.curve.numThresholds} />
            {stepped.steps.length > 1 && (
              <div class="sec-field">
                <span>Step</span>
                <StepSlider name={name} stepped={stepped} />
              </div>
            )}
          </>
        ) : (
          <Waiting problem={problem || damage} height={HEIGHT} retry={retry} />
        )}
      </Figure>
      <Figure title="ROC" hint={`${name}, ROC`} remark={hasCurves ? `area ${area}` : undefined}>
        {hasCurves ? (
          <CurveChart
            label={`ROC of ${name}: true over false positive rate, area ${area}`}
            none="No positives or no negatives: no curve"
            hasDiagonal
            curves={curves}
            pointsOf={rocPoints}
            markAt={rocAt}
          />
        ) : (
          <Waiting problem="" height={HEIGHT} retry={retry} />
        )}
      </Figure>
      {hasCurves && (
        <div class="sec-under">
          <TableTwin
            label={`${name} at threshold ${at.toFixed(2)}`}
            heads={HEADS}
            rows={curves.map(({ run, curve }) => [<RunTag run={run} />, ...cellsOf(curve, thresholdPlace(curve, at))])}
            isNamed
            class="sec-table"
          />
        </div>
      )}
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

const HEADS = [
  "run",
  ["AP", "average precision"],
  ["AUC", "area under the ROC curve"],
  "precision",
  "recall",
  "F1",
  ["TP", "true positives"],
  ["FP", "false positives"],
  ["FN", "false negatives"],
  ["TN", "true negatives"],
] as const;

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

interface CurveChartProps {
  label: string;
  curves: readonly RunCurve[];
  pointsOf: (curve: Curve) => readonly Point[];
  /** Where a threshold stands. */
  markAt: (curve: Curve, place: number) => Point;
  /** What is said where there is no curve at all. */
  none: string;
  /** The line of a guess, from corner to corner. */
  hasDiagonal?: boolean;
}

function CurveChart({ label, curves, pointsOf, markAt, none, hasDiagonal = false }: CurveChartProps) {
  const lines = curves.map(({ run, curve }, nth): Line => {
    const points = pointsOf(curve);
    return {
      ...{ name: run.id, colour: `var(--cat-${colourSlot(run.id)})`, end: "none" },
      ...{ x: points.map(({ x }) => x), y: points.map(({ y }) => y) },
      // From the fifth line on colours alone do not tell them apart.
      ...(nth >= 4 ? { look: "dashed" } : {}),
    };
  });
  const marks = curves.map(({ curve }) => markAt(curve, thresholdPlace(curve, threshold.value)));
  const first = marks.find(isKnown);
  return (
    <SmallChart
      label={label}
      height={(width) => Math.max(150, Math.min(260, Math.round(width * 0.66)))}
      x={() => AXIS}
      y={AXIS}
      over={({ x, y, left, bottom }) => (
        <>
          {lines.every((line) => line.x.length === 0) && (
            <text class="c" x={x(0.5)} y={y(0.5)}>
              {none}
            </text>
          )}
          {first !== undefined && <path class="cursor" d={`M${x(first.x)} ${bottom}V${y(first.y)}H${left}`} />}
          {marks.map(
            (mark, nth) =>
              isKnown(mark) && <circle key={nth} class="sec-point" style={{ fill: lines[nth]!.colour }} r={4} cx={x(mark.x)} cy={y(mark.y)} />,
          )}
        </>
      )}
    >
      {(space) => (
        <>
          {hasDiagonal && <path class="grid" d={`M${space.left} ${space.bottom}L${space.right} ${space.top}`} />}
          <Lines lines={lines} space={space} />
        </>
      )}
    </SmallChart>
  );
}
