/** What of the view can be shared stands in the address; who opens the address sees the same. */
import { batch, effect, untracked } from "@preact/signals";
import { isShown, nameRun, runId } from "../../data/network/moments";
import { isRaster, phase } from "../../data/network/network-state";
import * as store from "../../data/network/store";
import { type Choice, choiceOf, choose, MAPS } from "../../data/network/value-ranges";
import { type Changes, param, setParams } from "../../data/route";

const FIRST_VARIABLE = "Act";

/** Take the view from the address, now and when it changes, and write there what is changed. Call to stop. */
export function followAddress(): () => void {
  const stops = [effect(readAddress), effect(writeAddress), effect(writeRun)];
  return () => {
    for (const stop of stops) stop();
  };
}

function readAddress(): void {
  if (!isShown.value) return;
  const name = param("var") || FIRST_VARIABLE;
  const [item, layer, unit] = [wholeOf(param("item")) ?? 0, param("layer"), wholeOf(param("unit"))];
  const [only, isFlat, isOverTime] = [param("only"), isYes("flat"), isYes("raster")];
  const [hidden, hasRays, hasArrows] = [param("hide"), !isNo("rays"), !isNo("arrows")];
  const drawn = { hasHeight: !isNo("height"), fading: shareOf(param("fade")) };
  const choice = choiceIn();
  untracked(() =>
    batch(() => {
      store.variable.value = name;
      store.item.value = item;
      store.isFlat.value = isFlat;
      store.isolated.value = only === "" ? null : only;
      store.hasRays.value = hasRays;
      store.hasArrows.value = hasArrows;
      isRaster.value = isOverTime;
      setSelected(layer === "" || unit === null ? null : { layer, unit });
      if (hidden !== namesText(store.hidden.peek())) store.hidden.value = new Set(namesIn(hidden));
      const look = store.look.peek();
      if (look.hasHeight !== drawn.hasHeight || look.fading !== drawn.fading) store.look.value = { ...look, ...drawn };
      if (!isSame(choiceOf(name), choice)) choose(name, choice);
    }),
  );
}

function setSelected(next: store.UnitPlace | null): void {
  const now = store.selected.peek();
  if (now?.layer !== next?.layer || now?.unit !== next?.unit) store.selected.value = next;
}

/** Only what is not as it is at first: an address should be short. */
function writeAddress(): void {
  const changes = { ...placeWords(), ...drawingWords(), ...colourWords() };
  untracked(() => {
    if (isShown.value) setParams(changes);
  });
}

function placeWords(): Changes {
  const unit = store.selected.value;
  return {
    var: store.variable.value === FIRST_VARIABLE ? null : store.variable.value,
    item: store.item.value === 0 ? null : String(store.item.value),
    layer: unit?.layer ?? null,
    unit: unit === null ? null : String(unit.unit),
    only: store.isolated.value,
    hide: namesText(store.hidden.value) || null,
  };
}

function drawingWords(): Changes {
  const { hasHeight, fading } = store.look.value;
  return {
    flat: store.isFlat.value ? "yes" : null,
    raster: isRaster.value ? "yes" : null,
    rays: store.hasRays.value ? null : "no",
    arrows: store.hasArrows.value ? null : "no",
    height: hasHeight ? null : "no",
    fade: fading === 0 ? null : String(fading),
  };
}

function colourWords(): Changes {
  const { fixed, map, isCentred } = choiceOf(store.variable.value);
  return {
    limits: fixed === null ? null : `${fixed.min},${fixed.max}`,
    centre: isCentred === null ? null : isCentred ? "yes" : "no",
    map,
  };
}

/** Once it is known that there is something to see in it, and at once where the address names another one. */
function writeRun(): void {
  const isOther = param("run") !== "" && runId.value !== param("run");
  if (isShown.value && (phase.value === "shown" || isOther)) untracked(nameRun);
}

function isYes(name: string): boolean {
  return param(name) === "yes";
}

function isNo(name: string): boolean {
  return param(name) === "no";
}

function wholeOf(text: string): number | null {
  return /^\d{1,9}$/.test(text) ? Number(text) : null;
}

function shareOf(text: string): number {
  const share = Number(text);
  return share > 0 && share <= 1 ? share : 0;
}

/** With commas between them; a comma in a name is written as addresses write it. */
function namesText(names: Iterable<string>): string {
  return [...names].map((name) => name.replace(/[%,]/g, encodeURIComponent)).join(",");
}

function namesIn(text: string): string[] {
  return text
    .split(",")
    .filter((name) => name !== "")
    .map((name) => name.replaceAll("%2C", ",").replaceAll("%25", "%"));
}

function choiceIn(): Choice {
  const [min, max] = param("limits").split(",").map(Number);
  const isRange = min !== undefined && max !== undefined && Number.isFinite(min) && Number.isFinite(max) && min < max;
  return {
    fixed: isRange ? { min, max } : null,
    isCentred: isYes("centre") ? true : isNo("centre") ? false : null,
    map: MAPS.find(([one]) => one === param("map"))?.[0] ?? null,
  };
}

function isSame(one: Choice, other: Choice): boolean {
  const isSameRange = one.fixed?.min === other.fixed?.min && one.fixed?.max === other.fixed?.max;
  return isSameRange && one.isCentred === other.isCentred && one.map === other.map;
}
