/** What of the view can be shared stands in the address; who opens the address sees the same. */
import { batch, effect, untracked } from "@preact/signals";
import { param, setParams, type Changes } from "../route";
import { isShown } from "./netrun";
import { isRaster } from "./netstate";
import { choiceOf, choose, MAPS, type Choice } from "./ranges";
import * as store from "./store";

const FIRST_VARIABLE = "Act";

/** Take the view from the address, now and when it changes, and write there what is changed. Call to stop. */
export function followAddress(): () => void {
  const stops = [effect(readAddress), effect(writeAddress)];
  return () => {
    for (const stop of stops) stop();
  };
}

function readAddress(): void {
  if (!isShown.value) return;
  const name = param("var") || FIRST_VARIABLE;
  const [item, layer, unit] = [wholeOf(param("item")) ?? 0, param("layer"), wholeOf(param("unit"))];
  const [isFlat, only, isOverTime] = [param("flat") === "yes", param("only"), param("raster") === "yes"];
  const [fixed, map] = [limitsOf(param("limits")), MAPS.find(([one]) => one === param("map"))?.[0] ?? null];
  untracked(() =>
    batch(() => {
      store.variable.value = name;
      store.item.value = item;
      store.isFlat.value = isFlat;
      store.isolated.value = only === "" ? null : only;
      isRaster.value = isOverTime;
      setSelected(layer === "" || unit === null ? null : { layer, unit });
      const before = choiceOf(name);
      if (!isSameLimits(before.fixed, fixed) || before.map !== map) choose(name, { fixed, map });
    }),
  );
}

function setSelected(next: store.UnitPlace | null): void {
  const now = store.selected.peek();
  if (now?.layer !== next?.layer || now?.unit !== next?.unit) store.selected.value = next;
}

function writeAddress(): void {
  const [unit, { fixed, map }] = [store.selected.value, choiceOf(store.variable.value)];
  const changes: Changes = {
    var: store.variable.value === FIRST_VARIABLE ? null : store.variable.value,
    item: store.item.value === 0 ? null : String(store.item.value),
    layer: unit?.layer ?? null,
    unit: unit === null ? null : String(unit.unit),
    flat: store.isFlat.value ? "yes" : null,
    only: store.isolated.value,
    raster: isRaster.value ? "yes" : null,
    limits: fixed === null ? null : `${fixed.min},${fixed.max}`,
    map,
  };
  untracked(() => {
    if (isShown.value) setParams(changes);
  });
}

function wholeOf(text: string): number | null {
  return /^\d{1,9}$/.test(text) ? Number(text) : null;
}

function limitsOf(text: string): Choice["fixed"] {
  const [min, max] = text.split(",").map(Number);
  if (text === "" || min === undefined || max === undefined) return null;
  return Number.isFinite(min) && Number.isFinite(max) && min < max ? { min, max } : null;
}

function isSameLimits(one: Choice["fixed"], other: Choice["fixed"]): boolean {
  return one?.min === other?.min && one?.max === other?.max;
}
