/** What an op did over the whole run that its pass belongs to: its figures, and the series named after it. */
import { useEffect, useState } from "preact/hooks";
import { formatCount, formatNumberOf } from "../format";
import { LineChart } from "../runs/chart/LineChart";
import { isLive } from "../runs/states";
import { runsById } from "../runs/store";
import * as store from "../store";
import type { OpSeriesAnswer, PassDocument, PassListing } from "../wire";
import { figureCharts } from "./opfigures";
import { RunSeriesPart } from "./RunSeriesPart";
import { Section } from "./Section";

const HEIGHT = 88;
const LOOK_AGAIN_MS = 3000;

interface Props {
  document: PassDocument;
  index: number;
}

export function OverRun({ document, index }: Props) {
  const passes = store.source.value?.passes.value ?? [];
  const pass = passes.find((one) => one.id === store.passId.value);
  if (pass === undefined || pass.run_id === "") return null;
  return (
    <Section title="Over the run" remark={runsById.value.get(pass.run_id)?.name}>
      <OpFigures pass={pass} index={index} />
      <RunSeriesPart runId={pass.run_id} document={document} index={index} />
    </Section>
  );
}

function OpFigures({ pass, index }: { pass: PassListing; index: number }) {
  usePassesWhileLive(pass.run_id);
  const { answer, refusal } = useOpSeries(pass, index);
  if (refusal !== "") return <p class="muted fs-2">{refusal}</p>;
  if (answer === null) return null;
  const charts = figureCharts(answer);
  if (charts.length === 0) return <p class="muted fs-2">No figures of this op were kept with the passes.</p>;
  return (
    <>
      <p class="muted fs-1">
        {answer.steps.length < 2
          ? "One pass so far: lines come with the next."
          : `Output of this op in ${formatNumberOf(answer.steps.length, "pass", "passes")}`}
      </p>
      {charts.map(({ title, lines }) => (
        <figure key={title} class="small-chart">
          <figcaption class="muted fs-1">{title}</figcaption>
          <LineChart lines={lines} height={HEIGHT} mark={pass.step} summary={summaryOf(title, answer)} />
        </figure>
      ))}
    </>
  );
}

/** Passes that the run is given meanwhile are heard of. */
function usePassesWhileLive(runId: string): void {
  const run = runsById.value.get(runId);
  const isOn = run !== undefined && isLive(run);
  useEffect(() => {
    if (!isOn) return undefined;
    const timer = setInterval(() => store.source.peek()?.refreshPasses(), LOOK_AGAIN_MS);
    return () => clearInterval(timer);
  }, [isOn]);
}

interface Found {
  readonly answer: OpSeriesAnswer | null;
  readonly refusal: string;
}

const NOTHING: Found = { answer: null, refusal: "" };

/** Asked again when the run has more passes. */
function useOpSeries({ id: passId, run_id: runId }: PassListing, op: number): Found {
  const source = store.source.value;
  const numPasses = (source?.passes.value ?? []).filter((pass) => pass.run_id === runId).length;
  const [found, setFound] = useState(NOTHING);
  useEffect(() => setFound(NOTHING), [runId, op]);
  useEffect(() => {
    if (source === null) return undefined;
    let isWanted = true;
    source.ask({ type: "op_series", pass_id: passId, op }).then(
      ({ answer }) => {
        if (isWanted && answer.type === "op_series") setFound({ answer, refusal: "" });
      },
      (reason: unknown) => {
        if (isWanted)
          setFound({ answer: null, refusal: reason instanceof Error ? reason.message : String(reason) });
      },
    );
    return () => {
      isWanted = false;
    };
  }, [source, passId, runId, op, numPasses]);
  return found;
}

function summaryOf(title: string, { steps }: OpSeriesAnswer): string {
  const [first, last] = [steps[0], steps.at(-1)];
  if (first === undefined || last === undefined) return title;
  return `${title} of the output, from step ${formatCount(first)} to ${formatCount(last)}`;
}
