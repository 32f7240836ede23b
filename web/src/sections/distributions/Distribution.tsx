/** How the values of one series are spread, over time: as ridges and as a map. */
import { useRef, useState } from "preact/hooks";
import { formatCount, formatNumberOf } from "../../format";
import type { HistogramGrid } from "../asking";
import { toCsv } from "../../files/csv";
import { cursorStep, pointAt } from "../cursor";
import { Figure } from "../Figure";
import { countScale } from "../options";
import { RunTag } from "../RunTag";
import { fileName, save } from "../../files/saving";
import type { Holder } from "../series";
import { ToolButton } from "../ToolButton";
import { useNear } from "../../measuring/useNear";
import { Waiting } from "../Waiting";
import { describeCell, gridRows, rowUnder } from "./grid";
import { Heat } from "./Heat";
import { HEIGHT, Ridges, type Under } from "./Ridges";
import { useGrid } from "./useGrid";

interface Props {
  kind: "histogram" | "tensor";
  name: string;
  holder: Holder;
  /** Are several runs chosen, so that one has to be named? */
  isNamed: boolean;
}

export function Distribution({ kind, name, holder, isNamed }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const isNear = useNear(place);
  const [under, setUnder] = useState<Under | null>(null);
  const { grid, problem, retry } = useGrid(kind, name, holder, isNear);
  const isLog = countScale.value === "log";
  const point = (found: Under | null): void => {
    setUnder(found);
    pointAt(found === null || grid === null ? null : (grid.steps[found.row] ?? null), `${kind} ${name}`);
  };
  const step = cursorStep.value;
  const title = kind === "tensor" ? `${name} (tensor)` : name;
  return (
    <div ref={place} class="sec-pair" role="group" aria-label={title}>
      <Figure title={title} hint={`${title}, ridges`} remark={isNamed && <RunTag run={holder.run} />}>
        {grid === null ? (
          <Waiting problem={problem} height={HEIGHT} retry={retry} />
        ) : (
          <Ridges grid={grid} isLog={isLog} marked={markedRow(grid, under, step)} point={point} />
        )}
      </Figure>
      <Figure
        title="over time"
        hint={`${title}, heat map`}
        remark={grid !== null && remarkOf(grid, under)}
        tools={<SaveGrid title={title} stem={[holder.run.name, name]} grid={grid} />}
      >
        {grid === null ? (
          <Waiting problem="" height={HEIGHT} retry={retry} />
        ) : (
          <Heat grid={grid} isLog={isLog} step={step} point={point} />
        )}
      </Figure>
    </div>
  );
}

interface SaveProps {
  title: string;
  stem: readonly string[];
  grid: HistogramGrid | null;
}

function SaveGrid({ title, stem, grid }: SaveProps) {
  const press = (): void => {
    if (grid !== null) save(fileName(stem, "csv"), toCsv(gridRows(grid)), "text/csv");
  };
  return <ToolButton glyph="save" name={`Save ${title} as CSV`} isDisabled={grid === null} press={press} />;
}

/** The ridge under the pointer, or the one at the step that is pointed at elsewhere. */
function markedRow(grid: HistogramGrid, under: Under | null, step: number | null): Under | null {
  if (under !== null) return under;
  const [first, last] = [grid.steps[0] ?? 0, grid.steps.at(-1) ?? 0];
  if (step === null || step < first || step > last || last === first) return null;
  return { row: rowUnder(grid.steps, (step - first) / (last - first)), bin: 0 };
}

function remarkOf(grid: HistogramGrid, under: Under | null): string {
  if (under !== null) return describeCell(grid, under.row, under.bin);
  const { length } = grid.steps;
  return grid.numAll > length
    ? `${formatCount(length)} of ${formatNumberOf(grid.numAll, "step")}`
    : formatNumberOf(length, "step");
}
