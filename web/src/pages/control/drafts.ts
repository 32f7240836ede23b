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

type Texts = ReadonlyMap<string, string>;

/** By training, then by the name of the parameter. */
const drafts = signal<ReadonlyMap<string, Texts>>(new Map());
/** How a value in force was written: somebody's 1e-4 does not become 0.0001 under their eyes. */
const spellings = signal<ReadonlyMap<string, Texts>>(new Map());
/** By training, as it is typed. */
const seeds = signal<ReadonlyMap<string, string>>(new Map());

const values = computed(() => control.value?.values ?? {});

export const rows = computed<readonly FormRow[]>(() => {
  const texts = drafts.value.get(controlId.value);
  return (about.value?.fields ?? []).map((field) => {
    const draft = texts?.get(field.name);
    if (draft === undefined) return settledRow(field);
    const [reading, value] = [readValue(field, draft), valueOf(field)];
    const isChanged = !("value" in reading) || !isSame(reading.value, value);
    return { field, text: draft, reading, inForce: value, isChanged };
  });
});

function settledRow(field: FormField): FormRow {
  const value = valueOf(field);
  const spelling = spellings.value.get(controlId.value)?.get(field.name);
  const reading = spelling === undefined ? null : readValue(field, spelling);
  const isStill = reading !== null && "value" in reading && isSame(reading.value, value);
  const text = isStill ? spelling! : writeValue(value);
  return { field, text, reading: { value }, inForce: value, isChanged: false };
}

/** In force or, before the training has said what is, as it stands in the code. */
function valueOf(field: FormField): Value {
  const value = values.value[field.name];
  return value === undefined ? field.value : value;
}

/** Choices are texts on this side, whatever they are in the code. */
function isSame(one: Value, other: Value): boolean {
  return one === other || (one !== null && other !== null && String(one) === String(other));
}

export const changed = computed(() => rows.value.filter(({ isChanged }) => isChanged));

export const problems = computed(() => rows.value.filter(({ reading }) => "problem" in reading));

export function edit(name: string, text: string): void {
  drafts.value = withText(drafts.peek(), name, text);
}

/** Take back what was typed. */
export function revert(name: string): void {
  drafts.value = withText(drafts.peek(), name, null);
}

export function revertAll(): void {
  const id = controlId.peek();
  batch(() => {
    drafts.value = new Map([...drafts.peek()].filter(([one]) => one !== id));
    revertSeed();
  });
}

function withText(all: ReadonlyMap<string, Texts>, name: string, text: string | null): ReadonlyMap<string, Texts> {
  const id = controlId.peek();
  const texts = new Map(all.get(id));
  if (text === null) texts.delete(name);
  else texts.set(name, text);
  return new Map(all).set(id, texts);
}

/** The values of all parameters for a new beginning; null where one of them cannot be. */
export function initValues(): Record<string, Value> | null {
  const all: Record<string, Value> = {};
  for (const { field, reading } of rows.peek()) {
    if (!("value" in reading)) return null;
    all[field.name] = reading.value;
  }
  return all;
}

/** Those of the live parameters that were changed; none where one of them cannot be. */
export function liveValues(): Record<string, Value> {
  const live: Record<string, Value> = {};
  for (const { field, reading } of changed.value) {
    if (!field.is_live) continue;
    if (!("value" in reading)) return {};
    live[field.name] = reading.value;
  }
  return live;
}

const seedInForce = computed(() => control.value?.seed ?? 0);

/** Of the next Init, as it stands in its field. */
export const seedText = computed(() => seeds.value.get(controlId.value) ?? String(seedInForce.value));

/** Null where what is typed cannot be one. */
export const shownSeed = computed(() => readSeed(seedText.value));

export const isSeedChanged = computed(() => shownSeed.value !== seedInForce.value);

export function editSeed(text: string): void {
  seeds.value = new Map(seeds.peek()).set(controlId.peek(), text);
}

export function revertSeed(): void {
  const id = controlId.peek();
  seeds.value = new Map([...seeds.peek()].filter(([one]) => one !== id));
}

/** What was typed and is in force now is no longer a draft: a later change elsewhere is shown then. */
export function settleDrafts(): () => void {
  return effect(() => {
    const [id, settled] = [controlId.value, rows.value.filter(({ isChanged }) => !isChanged)];
    const texts = drafts.peek().get(id);
    const taken = settled.filter(({ field }) => texts?.has(field.name) === true);
    const isSeedTaken = seeds.peek().has(id) && !isSeedChanged.value;
    if (taken.length === 0 && !isSeedTaken) return;
    batch(() => {
      for (const { field, text } of taken) {
        spellings.value = withText(spellings.peek(), field.name, text);
        drafts.value = withText(drafts.peek(), field.name, null);
      }
      if (isSeedTaken) revertSeed();
    });
  });
}

// --- Values of parameters as they are typed, and what is wrong with them.

export type Value = ControlAnswer["values"][string];

/** What a text means, or why it means nothing, as it stands under the field. */
type Reading = { readonly value: Value } | { readonly problem: string };

/** Digits with a point, with an exponent where somebody likes: 0.05, .5, 1e-4. */
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** A value as the field shows it. */
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
      return field.choices.includes(text) ? { value: text } : { problem: requirementOf(field) };
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
  return isNumber && isWhole && isWithin ? { value } : { problem: requirementOf(field) };
}

/** As JavaScript reads it: a true minus and the thin spaces between groups of digits are how this page writes. */
function plainNumber(text: string): string {
  return text.trim().replaceAll("\u2212", "-").replace(/(?<=\d)[\u202f\u2009\u00a0 ](?=\d)/g, "");
}

export const SEED_REQUIREMENT = "must be a whole number, 0 or more";

/** Null where it is none. */
function readSeed(text: string): number | null {
  const digits = plainNumber(text);
  const seed = /^\d+$/.test(digits) ? Number(digits) : NaN;
  return Number.isSafeInteger(seed) ? seed : null;
}

/** What a value must be, in the words of the training: see training/parameterkinds.py. */
export function requirementOf(field: FormField): string {
  return `must be ${wanted(field)}${field.is_optional ? ", or empty" : ""}`;
}

function wanted({ form, choices, low, high }: FormField): string {
  if (form === "choice") return `${choices.length === 1 ? "" : "one of "}${choices.join(", ")}`;
  const whole = form === "integer" ? "a whole number" : "";
  const limits = limitWords(low, high);
  if (limits === "") return whole || "a number";
  return whole === "" ? limits : `${whole}, ${limits}`;
}

function limitWords(low: number | null, high: number | null): string {
  if (low !== null && high !== null) return `from ${writeValue(low)} to ${writeValue(high)}`;
  if (low !== null) return `${writeValue(low)} or more`;
  return high === null ? "" : `${writeValue(high)} or less`;
}
