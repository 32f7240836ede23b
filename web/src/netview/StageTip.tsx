/** What is under the pointer: which unit, and its value. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { formatCount, formatValue } from "../format";
import type { NetLayer } from "../wire";
import { hoveredReading, pointedStep } from "./readings";
import { stage } from "./stagecontrol";
import * as store from "./store";
import { unitName } from "./wording";

interface Props {
  tip: (() => ComponentChildren) | undefined;
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
      <b>{nameOf(layer, place)}</b>
      <div>
        {store.variable.value} {exactWords(place, layer) ?? wordsOf(place, layer.grid)}
      </div>
      {tip?.()}
    </div>
  );
}

/** Where time runs along a plate, with the step. */
function nameOf(layer: NetLayer, { unit, moment }: store.PointedPlace): string {
  if (moment === undefined) return unitName(layer, unit);
  const name = unitName({ ...layer, grid: { ...layer.grid, is_colour: false } }, unit);
  return pointedStep.value === null ? name : `${name} at step ${formatCount(pointedStep.value)}`;
}

/** As it was recorded, once that has come. */
function exactWords({ moment }: store.PointedPlace, { grid }: NetLayer): string | undefined {
  // Over time each of the three numbers of a colour has a place of its own.
  if (moment !== undefined && grid.is_colour) return undefined;
  return hoveredReading.value?.values.find(([name]) => name === store.variable.value)?.[1];
}

/** As it is drawn: as exact as a level is. */
function wordsOf(place: store.PointedPlace, grid: NetLayer["grid"]): string {
  const raster = store.raster.value?.get(place.layer);
  const block = raster ?? store.values.value.get(place.layer);
  if (block === undefined) return "not here yet";
  if (block.levels.length === 0) return block.why || "not recorded";
  const numMoments = raster?.steps.length ?? 1;
  const from = (Math.min(place.moment ?? Infinity, numMoments - 1) * block.levels.length) / numMoments;
  const maps = grid.is_colour && raster === undefined ? [0, 1, 2] : [0];
  return maps
    .map((map) => store.valueOf(block, from + place.unit + map * grid.rows * grid.columns))
    .map((value) => (value === null ? "not there" : formatValue(value)))
    .join(", ");
}
