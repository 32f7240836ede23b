/** What is under the pointer: which unit, and its value. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { formatValue } from "../format";
import { hoveredReading } from "./readings";
import { stage } from "./stagecontrol";
import * as store from "./store";
import { unitName } from "./wording";

interface Props {
  tip: ((place: store.UnitPlace) => ComponentChildren) | undefined;
}

const CLEAR = 14;

export function StageTip({ tip }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const place = store.hovered.value;
  const layer = store.scene.value?.layers.find(({ name }) => name === place?.layer);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || place === null) return;
    const at = stage.peek()?.placeOnScreen(place);
    const room = element.parentElement;
    element.hidden = at == null;
    if (at == null || room === null) return;
    const { offsetWidth: width, offsetHeight: height } = element;
    // Above the unit and to its right, unless that is outside.
    const left = at.x + CLEAR + width > room.clientWidth ? at.x - CLEAR - width : at.x + CLEAR;
    const top = at.y - CLEAR - height < 0 ? at.y + CLEAR : at.y - CLEAR - height;
    element.style.left = `${Math.max(0, left)}px`;
    element.style.top = `${Math.max(0, top)}px`;
  });
  if (place === null || layer === undefined) return null;
  return (
    <div ref={box} class="net-tip" role="tooltip">
      <b>{unitName(layer, place.unit)}</b>
      <div>
        {store.variable.value} {exactWords() ?? wordsOf(place, layer.grid)}
      </div>
      {tip?.(place)}
    </div>
  );
}

/** As it was recorded, once that has come. */
function exactWords(): string | undefined {
  return hoveredReading.value?.values.find(([name]) => name === store.variable.value)?.[1];
}

/** As it is drawn: as exact as a level is. */
function wordsOf(place: store.UnitPlace, grid: { is_colour: boolean; rows: number; columns: number }): string {
  const raster = store.raster.value?.get(place.layer);
  const block = raster ?? store.values.value.get(place.layer);
  if (block === undefined) return "not here yet";
  if (block.levels.length === 0) return block.why || "not recorded";
  const numUnits = raster === undefined ? 0 : block.levels.length / Math.max(1, raster.numMoments);
  const last = raster === undefined ? 0 : (raster.numMoments - 1) * numUnits;
  const maps = grid.is_colour && raster === undefined ? [0, 1, 2] : [0];
  return maps
    .map((map) => store.valueOf(block, last + place.unit + map * grid.rows * grid.columns))
    .map((value) => (value === null ? "not there" : formatValue(value)))
    .join(", ");
}
