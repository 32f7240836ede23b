/** Selections that were given a name: remembered by the browser, for each embedding its own. */
import { recall, remember } from "../remembered";

export type Selections = ReadonlyMap<string, readonly number[]>;

/** Browsers remember some five million characters for a page in all. */
const MOST_CHARACTERS = 500_000;

export function recallSelections(embedding: string): Selections {
  const found = new Map<string, readonly number[]>();
  try {
    const pairs = JSON.parse(recall(memoryOf(embedding)) ?? "[]") as unknown;
    if (!Array.isArray(pairs)) return found;
    for (const pair of pairs as unknown[]) {
      if (!Array.isArray(pair)) continue;
      const [name, text] = pair as unknown[];
      if (typeof name === "string" && typeof text === "string") found.set(name, readRanges(text));
    }
  } catch {
    // What cannot be read is not there.
  }
  return found;
}

/** A sentence where they are too many to remember; empty where all is well. */
export function keepSelections(embedding: string, selections: Selections): string {
  const text = JSON.stringify([...selections].map(([name, points]) => [name, writeRanges(points)]));
  if (text.length > MOST_CHARACTERS) return "Too many points to remember: download them instead.";
  remember(memoryOf(embedding), text);
  return "";
}

function memoryOf(embedding: string): string {
  return `selections ${embedding}`;
}

/** Rising numbers as `0-5,7,9-12`. */
export function writeRanges(points: readonly number[]): string {
  const sorted = [...new Set(points)].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let at = 0; at < sorted.length; at++) {
    const first = sorted[at]!;
    while (sorted[at + 1] === sorted[at]! + 1) at++;
    parts.push(sorted[at] === first ? String(first) : `${first}-${sorted[at]!}`);
  }
  return parts.join(",");
}

const MOST_POINTS = 10_000_000;

export function readRanges(text: string): number[] {
  const points: number[] = [];
  for (const part of text.split(",")) {
    const range = /^(\d+)(?:-(\d+))?$/.exec(part);
    if (range === null) continue;
    const [first, last] = [Number(range[1]), Number(range[2] ?? range[1])];
    for (let point = first; point <= last && points.length < MOST_POINTS; point++) points.push(point);
  }
  return points;
}
