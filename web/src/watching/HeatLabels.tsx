/** The names of the rows in view, beside the map. */
import { formatShape } from "../format";
import { alarmKind } from "./alarmkinds";
import { linesBetween, type Line, type RowLine } from "./rows";
import * as state from "./state";

/** A name needs so much room. */
const NAME_HEIGHT = 13;
const SPARE = 200;

interface Props {
  scrollTop: number;
  viewHeight: number;
}

export function HeatLabels({ scrollTop, viewHeight }: Props) {
  const lines = linesBetween(state.lines.value.all, scrollTop - SPARE, scrollTop + viewHeight + SPARE);
  const bad = worstByRow();
  let bottom = -Infinity;
  return (
    <div class="heat-labels">
      {lines.map((line, at) => {
        if (line.kind === "group") {
          bottom = line.top + line.height;
          return null;
        }
        // Of rows thinner than a name, as many are named as there is room for.
        const isThin = line.height < NAME_HEIGHT;
        if (isThin && (line.top < bottom || !hasRoom(lines, at))) return null;
        bottom = line.top + NAME_HEIGHT;
        return <RowName key={line.row.name} line={line} severity={bad.get(line.row.name)} />;
      })}
    </div>
  );
}

/** Is the next group far enough below a row for its name? */
function hasRoom(lines: readonly Line[], at: number): boolean {
  const end = lines[at]!.top + NAME_HEIGHT;
  for (let below = at + 1; below < lines.length && lines[below]!.top < end; below++) {
    if (lines[below]!.kind === "group") return false;
  }
  return true;
}

function worstByRow(): ReadonlyMap<string, "danger" | "warn"> {
  const found = new Map<string, "danger" | "warn">();
  for (const { row, alarm } of state.events.value.alarms) {
    const { severity } = alarmKind(alarm);
    if (found.get(row) !== "danger") found.set(row, severity);
  }
  return found;
}

function RowName({ line, severity }: { line: RowLine; severity: "danger" | "warn" | undefined }) {
  const { row, label, top, height } = line;
  const isSelected = state.rowName.value === row.name;
  const isPointed = state.pointed.value?.row === row.name;
  const shape = row.shape === null ? "not seen yet" : formatShape(row.shape);
  return (
    <button
      class={isPointed ? "heat-name pointed" : "heat-name"}
      style={{ top: `${top}px`, height: `${Math.max(NAME_HEIGHT, height)}px` }}
      tabIndex={-1}
      aria-pressed={isSelected}
      title={`${row.name} \u00b7 ${row.module === "" ? "" : `${row.module} \u00b7 `}${shape}`}
      onClick={() => state.chooseRow(isSelected ? null : row.name, isSelected ? null : state.step.peek())}
    >
      {severity !== undefined && <i class={`alarm-sign ${severity}`} aria-label="has alarms" role="img" />}
      <span class="heat-label">
        <bdi class="marked">{label}</bdi>
      </span>
    </button>
  );
}
