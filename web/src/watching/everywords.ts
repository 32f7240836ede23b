/** How often somebody wanted to watch, and how often it was watched, in words: looking costs time. */
import { formatNumberOf } from "../format";

const UNITS: Readonly<Record<string, string>> = {
  ...{ s: "second", sec: "second", second: "second" },
  ...{ min: "minute", minute: "minute", h: "hour", hour: "hour" },
};

/** `20/s` → `20 a second wanted`, `10 steps` → `every 10 steps wanted`; empty where nothing was said. */
export function wantedText(every: string): string {
  return textOf(every, "wanted");
}

/** `1.2/s` → `1.2 a second got`. */
export function gotText(got: string): string {
  return textOf(got, "got");
}

function textOf(every: string, word: string): string {
  const text = every.trim();
  if (text === "") return "";
  const [, rate, unit = ""] = /^([\d.eE+-]+)\s*\/\s*([a-z]+)$/.exec(text) ?? [];
  const span = UNITS[unit];
  if (rate !== undefined && span !== undefined) return `${rate} ${span === "hour" ? "an" : "a"} ${span} ${word}`;
  const count = /^(?:every\s+)?([\d.]{1,15})?\s*(?:steps?)?$/.exec(text);
  if (count === null) return `\u201c${text}\u201d ${word}`;
  const steps = Number(count[1] ?? 1);
  return `every ${steps === 1 ? "step" : formatNumberOf(steps, "step")} ${word}`;
}
