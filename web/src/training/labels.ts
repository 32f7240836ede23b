/** The names of lines at their ends, where several lines of a chart have one colour. */
import { lastSeen } from "./geometry";
import type { Model } from "./model";
import type { Frame } from "./tracing";

export interface PlacedLabel {
  readonly text: string;
  readonly x: number;
  readonly y: number;
}

const LINE_HEIGHT = 12;
const MAX_LENGTH = 28;
/** Of a letter, more or less. */
const LETTER_WIDTH = 6;

/** One for each member, above the end of its longest line, moved apart where they would cover each other. */
export function labelPlaces(model: Model, frame: Frame): PlacedLabel[] {
  const { chart, lines } = model;
  const { top, height, left, width } = frame.box;
  const isRoom = chart.members.length <= height / LINE_HEIGHT;
  if (chart.form !== "lines" || chart.members.length < 2 || !isRoom) return [];
  const placed: PlacedLabel[] = [];
  for (const member of chart.members) {
    const ends = lines.filter((line) => line.member.name === member.name).map((line) => lastSeen(line, frame));
    const seen = ends.filter((end) => end !== null).sort(([a], [b]) => b - a);
    if (seen[0] === undefined) continue;
    const text = shortened(member.label);
    const [x, y] = seen[0];
    const right = Math.min(left + width, Math.max(x, left + LETTER_WIDTH * text.length));
    placed.push({ text, x: right, y: y - 4 });
  }
  return apart(placed, top + LINE_HEIGHT - 4, top + height - 2);
}

function apart(labels: readonly PlacedLabel[], ceiling: number, floor: number): PlacedLabel[] {
  let free = ceiling;
  const moved = [...labels]
    .sort((a, b) => a.y - b.y)
    .map((label) => {
      const y = Math.max(label.y, free);
      free = y + LINE_HEIGHT;
      return { ...label, y };
    });
  // Those that were pushed out below go up again.
  let lowest = floor;
  for (let at = moved.length - 1; at >= 0; at--) {
    const y = Math.min(moved[at]!.y, lowest);
    moved[at] = { ...moved[at]!, y };
    lowest = y - LINE_HEIGHT;
  }
  return moved;
}

function shortened(text: string): string {
  return text.length <= MAX_LENGTH ? text : `…${text.slice(1 - MAX_LENGTH)}`;
}
