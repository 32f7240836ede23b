/** Which runs a text lets through: words of their names and values, and comparisons such as `lr<0.01`. */
import type { Column, Value } from "./columns";

const COMPARISON = /^(.+?)(<=|>=|!=|<|>|=)(.+)$/;

const COMPARE: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
};

export type Test = (runId: string, runName: string) => boolean;

export function filterOf(text: string, columns: readonly Column[]): Test {
  const tests = text
    .split(/\s+/)
    .filter((term) => term !== "")
    .map((term) => termTest(term, columns));
  return (runId, runName) => tests.every((test) => test(runId, runName));
}

function termTest(term: string, columns: readonly Column[]): Test {
  const [, name = "", sign = "", wanted = ""] = COMPARISON.exec(term) ?? [];
  const column = columns.find((one) => one.name === name);
  if (column === undefined) return wordTest(term.toLowerCase(), columns);
  return (runId) => {
    const value = column.values.get(runId);
    if (sign === "=") return isEqual(value, wanted);
    if (sign === "!=") return !isEqual(value, wanted);
    const limit = Number(wanted);
    return typeof value === "number" && !Number.isNaN(limit) && COMPARE[sign]!(value, limit);
  };
}

function isEqual(value: Value | undefined, wanted: string): boolean {
  if (typeof value === "number") return value === Number(wanted);
  return value !== undefined && value !== null && String(value).toLowerCase() === wanted.toLowerCase();
}

function wordTest(word: string, columns: readonly Column[]): Test {
  return (runId, runName) =>
    runName.toLowerCase().includes(word) ||
    columns.some(({ values }) => {
      const value = values.get(runId);
      return typeof value === "string" && value.toLowerCase().includes(word);
    });
}
