/** The confusion matrix of one run, as a drawing or as a table. */
import { useMemo, useState } from "preact/hooks";
import { formatCount, formatNumberOf } from "../../format";
import type { RunListing } from "../../wire";
import type { FullRecord } from "../asking";
import { toCsv } from "../../files/csv";
import { cellNumbers } from "../options";
import { RunTag } from "../RunTag";
import { fileName, save } from "../../files/saving";
import { ToolButton } from "../ToolButton";
import { Waiting } from "../Waiting";
import { describePlace, matrixRows, MAX_CLASSES, readMatrix, type Matrix, type Place } from "./matrix";
import { MatrixDrawing } from "./MatrixDrawing";
import { MatrixTable } from "./MatrixTable";

interface Props {
  name: string;
  run: RunListing;
  record: FullRecord;
  isNamed: boolean;
}

export function RunMatrix({ name, run, record, isNamed }: Props) {
  const [marked, setMarked] = useState<Place | null>(null);
  const [isTable, setIsTable] = useState(false);
  const { matrix, damage } = useMemo(() => matrixOf(record), [record]);
  if (matrix === null) return <Waiting problem={damage} height={120} retry={() => undefined} />;
  const size = matrix.labels.length;
  const isShare = cellNumbers.value === "share";
  const shown = marked !== null && marked.row < size && marked.column < size ? marked : null;
  const label = `${name} of ${run.name}`;
  return (
    <div class="sec-one">
      <div class="sec-one-head">
        <span class="grow clip" role="status">
          {shown !== null ? (
            <span class="fs-1">{describePlace(matrix, shown, isShare)}</span>
          ) : (
            isNamed && <RunTag run={run} />
          )}
        </span>
        {shown === null && <span class="muted fs-1">step {formatCount(record.entry.step)}</span>}
        <span class="sec-tools">
          <ToolButton
            glyph="table"
            name={`Show ${label} as table`}
            isPressed={isTable}
            isDisabled={size > MAX_CLASSES}
            press={() => setIsTable(!isTable)}
          />
          <ToolButton
            glyph="save"
            name={`Save ${label} as CSV`}
            press={() =>
              save(
                fileName([run.name, name, record.entry.step], "csv"),
                toCsv(matrixRows(matrix)),
                "text/csv",
              )
            }
          />
        </span>
      </div>
      {size > MAX_CLASSES ? (
        <p class="muted fs-1">
          {formatNumberOf(size, "class", "classes")} are more than are drawn ({MAX_CLASSES}); the CSV has them
          all.
        </p>
      ) : isTable ? (
        <MatrixTable name={label} matrix={matrix} isShare={isShare} />
      ) : (
        <MatrixDrawing name={label} matrix={matrix} isShare={isShare} marked={shown} mark={setMarked} />
      )}
    </div>
  );
}

function matrixOf(record: FullRecord): { matrix: Matrix | null; damage: string } {
  try {
    return { matrix: readMatrix(record), damage: "" };
  } catch (reason) {
    return { matrix: null, damage: reason instanceof Error ? reason.message : String(reason) };
  }
}
