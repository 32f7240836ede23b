/** How often somebody wanted to watch, in words. What was really watched may be less: looking costs time. */
import { formatNumberOf } from "../format";

const UNITS: Readonly<Record<string, string>> = {
  ...{ s: "second", sec: "second", second: "second" },
  ...{ min: "minute", minute: "minute", h: "hour", hour: "hour" },
};

/** `20/s` → `20 a second wanted`, `10 steps` → `every 10 steps wanted`; empty where nothing was said. */
export function wantedText(every: string): string {
  const text = every.trim();
  if (text === "") return "";
  const [, rate, unit = ""] = /^([\d.eE+-]+)\s*\/\s*([a-z]+)$/.exec(text) ?? [];
  const word = UNITS[unit];
  if (rate !== undefined && word !== undefined) return `${rate} ${word === "hour" ? "an" : "a"} ${word} wanted`;
  const count = /^(?:every\s+)?(\d{1,15})?\s*(?:steps?)?$/.exec(text);
  if (count === null) return `“${text}” wanted`;
  const steps = Number(count[1] ?? 1);
  return `every ${steps === 1 ? "step" : formatNumberOf(steps, "step")} wanted`;
}
