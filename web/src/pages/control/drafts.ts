/**
 * What stands in the form: the values in force, and over them what somebody has typed. It stays typed, whatever the
 * training does meanwhile, until it is in force or taken back.
 */
import { batch, computed, effect, signal } from "@preact/signals";
import { about, control, controlId } from "../../data/control";
import type { ControlAnswer, FormField } from "../../wire";

export interface FormRow {
  readonly field: FormField;
  readonly text: string;
  readonly reading: Reading;
  readonly inForce: Value;
  /** Is it other than what is in force? */
  readonly isChanged: boolean;
}

/** By training and parameter. */
type Texts = ReadonlyMap<string, string>;

const drafts = signal<Texts>(new Map());
/** How a value in force was written: somebody's 1e-4 does not become 0.0001 under their eyes. */
const spellings = signal<Texts>(new Map());

/** The seed of the next Init is typed as a parameter is. None is called so. */
const SEED: FormField = {
  ...{ name: "", label: "Seed", section: "", about: "" },
  ...{ form: "integer", value: 0, choices: [], low: 0, high: null, is_optional: false, is_live: false },
  requirement: "must be a whole number, 0 or more",
};

export const rows = computed<readonly FormRow[]>(() => (about.value?.fields ?? []).map(rowOf));

export const seed = computed(() => rowOf(SEED));

function rowOf(field: FormField): FormRow {
  const [key, inForce] = [keyOf(field.name), valueOf(field)];
  const draft = drafts.value.get(key);
  if (draft !== undefined) {
    const reading = readValue(field, draft);
    return { field, text: draft, reading, inForce, isChanged: !isInForce(reading, inForce) };
  }
  const spelling = spellings.value.get(key);
  const isStill = spelling !== undefined && isInForce(readValue(field, spelling), inForce);
  return { field, text: isStill ? spelling : writeValue(inForce), reading: { value: inForce }, inForce, isChanged: false };
}

/** In force or, before the training has said what is, as it stands in the code. */
function valueOf(field: FormField): Value {
  const value = field === SEED ? control.value?.seed : control.value?.values[field.name];
  return value === undefined ? field.value : value;
}

/** Choices are texts on this side, whatever they are in the code. */
function isInForce(reading: Reading, inForce: Value): boolean {
  if (!("value" in reading)) return false;
  const { value } = reading;
  return value === inForce || (value !== null && inForce !== null && String(value) === String(inForce));
}

export const changed = computed(() => rows.value.filter(({ isChanged }) => isChanged));

/** Null takes back what was typed. */
export function edit(name: string, text: string | null): void {
  const texts = new Map(drafts.peek());
  if (text === null) texts.delete(keyOf(name));
  else texts.set(keyOf(name), text);
  drafts.value = texts;
}

export function revertAll(): void {
  drafts.value = new Map([...drafts.peek()].filter(([key]) => !key.startsWith(keyOf(""))));
}

function keyOf(name: string): string {
  return `${controlId.value}\n${name}`;
}

/** By name; null where one of them cannot be as it is written. */
function valuesOf(some: readonly FormRow[]): Record<string, Value> | null {
  const values: Record<string, Value> = {};
  for (const { field, reading } of some) {
    if (!("value" in reading)) return null;
    values[field.name] = reading.value;
  }
  return values;
}

/** The values of all parameters for a new beginning; null where one of them cannot be. */
export function initValues(): Record<string, Value> | null {
  return valuesOf(rows.peek());
}

/** Those of the live parameters that were changed, or of one of them; none where one cannot be. */
export function liveValues(name?: string): Record<string, Value> {
  const live = changed.value.filter(({ field }) => field.is_live && (name === undefined || field.name === name));
  return valuesOf(live) ?? {};
}

export const shownSeed = computed(() => {
  const { reading } = seed.value;
  return "value" in reading ? Number(reading.value) : null;
});

/** What was typed and is in force now is no longer a draft: a later change elsewhere is shown then. */
export function settleDrafts(): () => void {
  return effect(() => {
    const isTaken = ({ field, isChanged }: FormRow): boolean => !isChanged && drafts.peek().has(keyOf(field.name));
    const taken = [...rows.value, seed.value].filter(isTaken);
    if (taken.length === 0) return;
    batch(() => {
      for (const { field, text } of taken) {
        spellings.value = new Map(spellings.peek()).set(keyOf(field.name), text);
        edit(field.name, null);
      }
    });
  });
}

// --- Values of parameters as they are typed, and what is wrong with them.

export type Value = ControlAnswer["values"][string];

/** What a text means, or why it means nothing, as it stands under the field. */
type Reading = { readonly value: Value } | { readonly problem: string };

/** Digits with a point, with an exponent where somebody likes: 0.05, .5, 1e-4. */
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

export function writeValue(value: Value): string {
  if (value === null) return "";
  return typeof value === "number" ? String(value).replaceAll("-", "\u2212").replace("e+", "e") : String(value);
}

export function readValue(field: FormField, text: string): Reading {
  if (text.trim() === "" && field.is_optional) return { value: null };
  switch (field.form) {
    case "text":
      return { value: text };
    case "truth":
      return { value: text === "true" };
    case "choice":
      return field.choices.includes(text) ? { value: text } : { problem: field.requirement };
    case "integer":
    case "number":
      return readNumber(field, plainNumber(text));
  }
}

function readNumber(field: FormField, text: string): Reading {
  const value = Number(text);
  // A comma means thousands to some and the point to others: better ask than train with the wrong number.
  if (/^[\d+-]*,\d+$/.test(text)) return { problem: `must have a point: ${text.replace(",", ".")}` };
  const isNumber = NUMBER.test(text) && Number.isFinite(value);
  const isWhole = field.form === "number" || Number.isSafeInteger(value);
  const isWithin = value >= (field.low ?? -Infinity) && value <= (field.high ?? Infinity);
  return isNumber && isWhole && isWithin ? { value } : { problem: field.requirement };
}

/** As JavaScript reads it: a true minus and the thin spaces between groups of digits are how this page writes. */
function plainNumber(text: string): string {
  return text.trim().replaceAll("\u2212", "-").replace(/(?<=\d)[\u202f\u2009\u00a0 ](?=\d)/g, "");
}
