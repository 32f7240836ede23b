/** One series of PR curves: all runs in one chart, ROC beside it, and what the threshold makes of them. */
import { useRef } from "preact/hooks";
import { formatCount } from "../../format";
import type { FullRecord } from "../asking";
import { toCsv } from "../../files/csv";
import { Figure } from "../Figure";
import { threshold } from "../options";
import { fileName, save } from "../../files/saving";
import { holdersOf, type Holder } from "../series";
import { StepSlider, stepByKey } from "../StepSlider";
import { ToolButton } from "../ToolButton";
import { useFullRecords } from "../useFullRecords";
import { useNear } from "../../measuring/useNear";
import { useRecords } from "../useRecords";
import { Waiting } from "../Waiting";
import { wantedOf } from "../wanting";
import { CurveChart } from "./CurveChart";
import {
  averagePrecision,
  curveRows,
  CURVE_COLUMNS,
  prPoints,
  readCurve,
  rocArea,
  rocAt,
  rocPoints,
  thresholdPlace,
} from "./curves";
import { CurveTable, share, type RunCurve } from "./CurveTable";

const HEIGHT = 200;
const NOTHING: ReadonlyMap<string, FullRecord> = new Map();

export function PrCurves({ name }: { name: string }) {
  const place = useRef<HTMLDivElement>(null);
  const isNear = useNear(place);
  const holders = holdersOf("pr_curve", name);
  const stepped = useRecords("pr_curve", name, holders, isNear);
  const { value, problem, retry } = useFullRecords(wantedOf(holders, stepped), isNear);
  const { curves, damage } = curvesOf(holders, value ?? NOTHING);
  const at = threshold.value;
  const hasCurves = curves.length > 0;
  const trouble = stepped.problem || problem || damage;
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
          <Waiting
            problem={trouble}
            height={HEIGHT}
            retry={stepped.state === "failed" ? stepped.retry : retry}
          />
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

function StepRow({ name, stepped }: { name: string; stepped: ReturnType<typeof useRecords> }) {
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
        <input
          type="range"
          min={0}
          max={last}
          value={Math.round(threshold.value * last)}
          aria-label={`Threshold of ${name}`}
          aria-valuetext={threshold.value.toFixed(3)}
          onInput={(event) => threshold.set(Number(event.currentTarget.value) / last)}
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
    try {
      curves.push({ run, step: record.entry.step, curve: readCurve(record) });
    } catch (reason) {
      damage = reason instanceof Error ? reason.message : String(reason);
    }
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
