/** What of the view can be shared stands in the address; who opens the address sees the same. */
import { batch, effect, type Signal, untracked } from "@preact/signals";
import { isShown, nameRun, runId } from "../../data/network/moments";
import { isRaster, phase } from "../../data/network/network-state";
import * as store from "../../data/network/store";
import { type Choice, choiceOf, choose, MAPS } from "../../data/network/value-ranges";
import { type Changes, param, setParams } from "../../data/route";

/** Take the view from the address, now and when it changes, and write there what is changed. Call to stop. */
export function followAddress(): () => void {
  const stops = [effect(readAddress), effect(writeAddress), effect(writeRun)];
  return () => stops.forEach((stop) => stop());
}

function readAddress(): void {
  if (!isShown.value) return;
  const takers = SETTINGS.map(({ read }) => read());
  untracked(() => batch(() => takers.forEach((take) => take())));
}

function writeAddress(): void {
  const changes = Object.fromEntries(SETTINGS.flatMap(({ write }) => Object.entries(write())));
  untracked(() => {
    if (isShown.value) setParams(changes);
  });
}

/** Once it is known that there is something to see in it, and at once where the address names another one. */
function writeRun(): void {
  const isOther = param("run") !== "" && runId.value !== param("run");
  if (isShown.value && (phase.value === "shown" || isOther)) untracked(nameRun);
}

// --- Each setting with its parameters. One that is as at first is not written: an address should be short.

interface Setting {
  /** What it returns takes over what the address says. */
  readonly read: () => () => void;
  readonly write: () => Changes;
}

type Text = string | null;

function setting<Value>(
  names: readonly string[],
  held: { value: Value },
  parse: (...texts: string[]) => Value,
  print: (value: Value) => readonly Text[],
): Setting {
  return {
    read: () => {
      const next = parse(...names.map(param));
      return () => {
        if (print(next).join("\n") !== print(held.value).join("\n")) held.value = next;
      };
    },
    write: () => {
      const texts = print(held.value);
      return Object.fromEntries(names.map((name, at) => [name, texts[at] ?? null]));
    },
  };
}

function flag(name: string, held: Signal<boolean>, usual: boolean): Setting {
  const other = usual ? "no" : "yes";
  return setting([name], held, (text) => (text === other) !== usual, (isOn) => [isOn === usual ? null : other]);
}

const FIRST_VARIABLE = "Act";

const choice = {
  get value(): Choice {
    return choiceOf(store.variable.value);
  },
  set value(next: Choice) {
    choose(store.variable.peek(), next);
  },
};

const SETTINGS: readonly Setting[] = [
  setting(["var"], store.variable, (name) => name || FIRST_VARIABLE, (name) => [name === FIRST_VARIABLE ? null : name]),
  setting(["item"], store.item, (text) => wholeOf(text) ?? 0, (item) => [item === 0 ? null : String(item)]),
  setting<store.UnitPlace | null>(
    ["layer", "unit"],
    store.selected,
    (layer, text) => {
      const unit = wholeOf(text);
      return layer === "" || unit === null ? null : { layer, unit };
    },
    (place) => (place === null ? [] : [place.layer, String(place.unit)]),
  ),
  setting(["only"], store.isolated, (name) => name || null, (name) => [name]),
  setting(["hide"], store.hidden, namesIn, (names) => [namesText(names) || null]),
  flag("flat", store.isFlat, false),
  flag("raster", isRaster, false),
  flag("rays", store.hasRays, true),
  flag("arrows", store.hasArrows, true),
  flag("height", store.hasHeight, true),
  setting(["fade"], store.fading, shareOf, (share) => [share === 0 ? null : String(share)]),
  setting(["limits", "centre", "map"], choice, choiceIn, ({ fixed, isCentred, map }) => [
    fixed === null ? null : `${fixed.min},${fixed.max}`,
    isCentred === null ? null : isCentred ? "yes" : "no",
    map,
  ]),
];

function wholeOf(text: string): number | null {
  return /^\d{1,9}$/.test(text) ? Number(text) : null;
}

function shareOf(text: string): number {
  const share = Number(text);
  return share > 0 && share <= 1 ? share : 0;
}

/** With commas between them; a comma in a name is written as addresses write it. */
function namesText(names: ReadonlySet<string>): string {
  return [...names].map((name) => name.replace(/[%,]/g, encodeURIComponent)).join(",");
}

function namesIn(text: string): ReadonlySet<string> {
  const names = text.split(",").filter((name) => name !== "");
  return new Set(names.map((name) => name.replaceAll("%2C", ",").replaceAll("%25", "%")));
}

function choiceIn(limits: string, centre: string, map: string): Choice {
  const [min = NaN, max = NaN] = limits.split(",").map(Number);
  const isRange = Number.isFinite(min) && Number.isFinite(max) && min < max;
  return {
    fixed: isRange ? { min, max } : null,
    isCentred: centre === "yes" ? true : centre === "no" ? false : null,
    map: MAPS.find(([one]) => one === map)?.[0] ?? null,
  };
}
