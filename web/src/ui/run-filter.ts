/** Which runs a filter lets through: words of their names, tags and comments, and comparisons of their metrics. */
import type { RunListing } from "../wire";

interface RunFilter {
  matches(run: RunListing): boolean;
  /** What cannot be understood of it, for the reader; empty where all can. */
  readonly problem: string;
}

type Test = (run: RunListing) => boolean;

export const COMPARISONS: Readonly<Record<string, (value: number, limit: number) => boolean>> = {
  ">": (value, limit) => value > limit,
  ">=": (value, limit) => value >= limit,
  "<": (value, limit) => value < limit,
  "<=": (value, limit) => value <= limit,
  "=": (value, limit) => value === limit,
  "!=": (value, limit) => value !== limit,
};

/** A name, a sign, a number; or a phrase in quotes; or a word. Both with a minus before what shall not be there. */
const PART = /(-?)(?:"([^"]*)"?|([^\s"<>=!]+)\s*(>=|<=|!=|==|>|<|=)\s*([^\s"]*)|([^\s"]+))/g;

/** `acc>0.9 resnet`: runs whose accuracy is above 0.9 and that have resnet in their name, tags or comment. */
export function parseFilter(text: string): RunFilter {
  const tests: Test[] = [];
  let problem = "";
  for (const [, minus, phrase, name, sign, limit, word] of text.matchAll(PART)) {
    const found =
      name === undefined ? hasWord(phrase ?? word ?? "") : compares(name, sign ?? "", limit ?? "");
    if (typeof found === "string") problem ||= found;
    else tests.push(minus === "-" ? (run) => !found(run) : found);
  }
  return { matches: (run) => tests.every((test) => test(run)), problem };
}

function hasWord(word: string): Test {
  const wanted = word.toLowerCase();
  return (run) =>
    [run.name, run.comment, run.host, run.state, ...run.tags].some((text) =>
      text.toLowerCase().includes(wanted),
    );
}

function compares(name: string, sign: string, text: string): Test | string {
  const compare = COMPARISONS[sign === "==" ? "=" : sign]!;
  const limit = Number(text.replace("\u2212", "-"));
  if (text === "") return `A number is missing after ${name} ${sign}`;
  if (Number.isNaN(limit)) return `${text} is no number`;
  return (run) => valuesOf(run, name).some((value) => compare(value, limit));
}

/** The values of what is called so: the metric of just that name, or of that last part, or with it in its name. */
function valuesOf(run: RunListing, name: string): number[] {
  const wanted = name.toLowerCase();
  if (wanted === "step") return run.last_step === null ? [] : [run.last_step];
  const tests: readonly ((name: string) => boolean)[] = [
    (one) => one === wanted,
    (one) => one.split(/[/.]/).at(-1) === wanted,
    (one) => one.includes(wanted),
  ];
  const found = tests
    .map((test) => run.metrics.filter((metric) => test(metric.name.toLowerCase())))
    .find((metrics) => metrics.length > 0);
  return (found ?? []).flatMap(({ value }) => value ?? []);
}
