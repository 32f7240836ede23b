/** The selected row in full: its figures over steps as charts or as a table, its histograms, the way to its tensor. */
import { useState } from "preact/hooks";
import { formatShape } from "../format";
import { addressOf } from "../route";
import * as runs from "../runs/store";
import { Distribution } from "../sections/distributions/Distribution";
import { Blank } from "../shell/Blank";
import { Icon } from "../shell/Icon";
import { stepsText } from "./events";
import { RowCharts } from "./RowCharts";
import type { RowFigures } from "./rowfigures";
import { roleTitle } from "./rows";
import { RowTable } from "./RowTable";
import * as state from "./state";
import "../sections/sections.css";

export function RowPanel() {
  const [isTable, setIsTable] = useState(false);
  const figures = state.figures.value;
  const name = state.rowName.value;
  return (
    <section class="panel row-panel" aria-label="Selected row">
      <div class="panel-head row-head">
        <h2 class="mono clip" title={name}>
          {name}
        </h2>
        <span class="muted fs-1 clip row-facts">{factsOf(figures)}</span>
        {!isTable && <StepOfValues figures={figures} />}
        <span class="grow" />
        <TensorLink figures={figures} />
        <button class="link quiet fs-2" aria-pressed={isTable} onClick={() => setIsTable(!isTable)}>
          {isTable ? "show as charts" : "show as table"}
        </button>
        <button
          class="btn quiet sm square"
          aria-label="Close the row"
          onClick={() => state.chooseRow(null, null)}
        >
          <Icon name="close" />
        </button>
      </div>
      <div class="panel-body">
        {figures === null ? <Loading /> : <Body figures={figures} isTable={isTable} />}
      </div>
    </section>
  );
}

function factsOf(figures: RowFigures | null): string {
  const row = figures?.row ?? null;
  if (row === null) return "";
  const shape = row.shape === null ? "not seen yet" : formatShape(row.shape);
  return [row.module, roleTitle(row.role).toLowerCase(), shape].filter((part) => part !== "").join(" \u00b7 ");
}

/** Which steps the numbers above the charts are of. */
function StepOfValues({ figures }: { figures: RowFigures | null }) {
  const at = state.shownBucket.value;
  const [first, last] = [figures?.firstSteps[at], figures?.lastSteps[at]];
  if (first === undefined || last === undefined) return null;
  return <span class="muted fs-1 row-step">values at {stepsText(first, last)}</span>;
}

function TensorLink({ figures }: { figures: RowFigures | null }) {
  const tensor = figures?.tensorName ?? "";
  if (tensor === "") return null;
  const step = state.step.value;
  const place = { tensor, run: state.runId.value, kind: null, with: null, step: step === null ? null : String(step) };
  return (
    <a class="link fs-2" href={addressOf("tensors", place)}>
      Open in Tensors
    </a>
  );
}

function Loading() {
  return (
    <div class="section late" aria-busy="true" aria-label="Loading the figures of the row">
      <i class="skeleton block low" />
    </div>
  );
}

function Body({ figures, isTable }: { figures: RowFigures; isTable: boolean }) {
  if (figures.row === null)
    return (
      <Blank icon="search" title="There is no such row">
        <span>“{figures.name}” is not watched in this run on rank {figures.rank}.</span>
      </Blank>
    );
  return (
    <>
      {isTable ? <RowTable figures={figures} /> : <RowCharts figures={figures} />}
      <Histograms figures={figures} />
    </>
  );
}

function Histograms({ figures: { histogramName, tensorName } }: { figures: RowFigures }) {
  const run = state.run.value;
  const [kind, name] = histogramName !== "" ? (["histogram", histogramName] as const) : (["tensor", tensorName] as const);
  const series = run === null || name === "" ? undefined : runs.seriesOf(run.id, kind, name);
  if (run === null || series === undefined) return null;
  return (
    <div class="sections row-histograms">
      <Distribution kind={kind} name={name} holder={{ run, series }} isNamed={false} />
    </div>
  );
}
