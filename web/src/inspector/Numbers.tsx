/** Exact values in a grid that can be moved over the tensor. */
import { useState } from "preact/hooks";
import { formatExact } from "../format";
import type { TensorValues } from "../source/source";
import type { Scale } from "../tensor/colour";
import {
  clampStart,
  fullReach,
  indexOf,
  pageSize,
  pageWindow,
  reachOf,
  startFor,
  stripAxis,
  windowText,
} from "../tensor/window";
import type { AxisName, Reach, Start } from "../tensor/window";
import { columnsFor, roomFor } from "./cells";
import { GoToIndex } from "./GoToIndex";
import { MoveButtons } from "./MoveButtons";
import { NumberGrid } from "./NumberGrid";
import { Section } from "./Section";
import type { AnyTensor } from "./subjects";
import { textWidth } from "./textWidth";
import { useWindow } from "./useTensor";
import { useWidth } from "../measuring/useWidth";

interface Props {
  subject: AnyTensor;
  base: TensorValues;
  scale: Scale;
  start: Start;
  /** Move from where it is now, which may be further than what is on screen. */
  onMove: (change: (now: Start) => Start) => void;
  canMove: boolean;
}

export function Numbers({ subject, base, scale, start, onMove, canMove }: Props) {
  const { shape, window } = base.view;
  const reach = canMove ? fullReach(shape, window.item) : reachOf(window);
  const [box, width] = useWidth<HTMLDivElement>(320);
  const columns = columnsFor(width, textWidth);
  const page = pageWindow(reach, start, columns);
  const shown = useWindow(subject, base, page);
  const [active, setActive] = useState(0);
  const move = (axis: AxisName, by: number): void =>
    onMove((now) => {
      const from = clampStart(reach, now, columns);
      return clampStart(reach, { ...from, [axis]: from[axis] + by }, columns);
    });
  const values = shown.values;
  const at = Math.min(active, (values?.values.length ?? 1) - 1);
  const goTo = (index: readonly number[]): string =>
    goToIndex(reach, shape, window.item, index, (to) => onMove(() => to), canMove);
  return (
    <Section
      title="Numbers"
      remark={<span class="mono">{windowText(shape, values?.view.window ?? page)}</span>}
    >
      <div ref={box} />
      {shown.missing !== null && <p class="note fs-1">{shown.missing}</p>}
      {values !== null && (
        <>
          <NumberGrid
            values={values}
            scale={scale}
            columns={stripAxis(reach) === null ? values.view.window.num_columns : columns}
            fits={(text) => textWidth(text) <= roomFor(width, columns)}
            active={at}
            onActive={setActive}
            onEdge={(down, across) => edge(reach, down, across, columns, move)}
          />
          <p class="exact mono fs-1" aria-live="polite" data-testid="exact-value">
            [{indexOf(shape, values.view.window, at).join(", ")}] ={" "}
            {formatExact(values.values[at] ?? NaN, values.view.encoding)}
          </p>
        </>
      )}
      <div class="row number-tools">
        <MoveButtons
          reach={reach}
          start={clampStart(reach, start, columns)}
          size={pageSize(reach, columns)}
          onMove={move}
        />
        <span class="grow" />
        {shape.length > 0 && <GoToIndex shape={shape} onGo={goTo} />}
      </div>
    </Section>
  );
}

/** The arrow keys at the edge of the grid move the grid. */
function edge(
  reach: Reach,
  down: number,
  across: number,
  columns: number,
  move: (axis: AxisName, by: number) => void,
): void {
  const strip = stripAxis(reach);
  if (strip !== null) move(strip, down === 0 ? across : down * columns);
  else if (down !== 0) move("rows", down);
  else move("columns", across);
}

/** Move to an index that was typed; a sentence where that cannot be. */
function goToIndex(
  reach: Reach,
  shape: readonly number[],
  item: readonly number[],
  index: readonly number[],
  onMove: (start: Start) => void,
  canMove: boolean,
): string {
  if (index.length !== shape.length) return `This tensor has ${shape.length} dimensions.`;
  const outside = index.findIndex((at, dim) => at < 0 || at >= shape[dim]!);
  if (outside >= 0) return `Dimension ${outside} goes from 0 to ${shape[outside]! - 1}.`;
  if (index.slice(0, item.length).join() !== item.join()) {
    return canMove ? "Choose the item above first." : "This item is not in this file.";
  }
  const start = startFor(reach, shape, index);
  if (start === null) return "This value is not in this file.";
  onMove(start);
  return "";
}
