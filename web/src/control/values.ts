/** Values of parameters as they are typed, and what is wrong with them. */
import type { ControlAnswer, FormField } from "../wire";

export type Value = ControlAnswer["values"][string];

/** What a text means, or why it means nothing, as it stands under the field. */
export type Reading = { readonly value: Value } | { readonly problem: string };

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
export function readSeed(text: string): number | null {
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
