/** Labels of items, samples or points: which colour and shape stand for which, and where each begins among sorted ones. */
import { formatCount } from "../data/format";

/** Which labels there are, each once, and for each item the number of its own; empty where there are none. */
export interface Labelled {
  readonly labels: readonly string[];
  readonly label_of: readonly number[];
}

const NUM_COLOURS = 8;
/** Above so many, labels have a place on a ramp: their order can be seen, though not which is which. */
const MOST_NAMED = 24;
const NUM_STEPS = 10;
const FIRST_STEP = 2; // paler ones vanish in the background

/** After the eight of the theme come the same, paler, and then stronger. */
const MIXED: readonly (string | undefined)[] = [undefined, "--sunken", "--text"];
export const MIXED_SHARE = 0.55;

/** As CSS writes it. Where there is room for shapes, they tell apart what looks alike. */
export function labelColour(label: number | undefined, numLabels: number): string {
  if (label === undefined) return "var(--cat-1)";
  if (numLabels <= MOST_NAMED) {
    const [colour, mixed] = [`var(--cat-${(label % NUM_COLOURS) + 1})`, MIXED[Math.floor(label / NUM_COLOURS)]];
    return mixed === undefined ? colour : `color-mix(in srgb, ${colour} ${100 * MIXED_SHARE}%, var(${mixed}))`;
  }
  const share = label / (numLabels - 1);
  return `var(--seq-${FIRST_STEP + Math.round(share * (NUM_STEPS - 1 - FIRST_STEP))})`;
}

/** 0 circle, 1 square, 2 triangle. */
export function labelShape(label: number | undefined, numLabels: number): number {
  return label === undefined || numLabels > MOST_NAMED ? 0 : Math.floor(label / NUM_COLOURS);
}

export interface Stretch {
  readonly label: number | undefined;
  readonly from: number;
  readonly count: number;
}

/** Neighbours with the same label, among so many in a line. */
export function stretchesOf(labelOf: readonly number[], count: number): Stretch[] {
  const found: { label: number | undefined; from: number; count: number }[] = [];
  for (let at = 0; at < count; at++) {
    const last = found.at(-1);
    if (last !== undefined && last.label === labelOf[at]) last.count += 1;
    else found.push({ label: labelOf[at], from: at, count: 1 });
  }
  return found;
}

/** Which colour stands for which label, and how many items have it. */
export function Legend({ of: { labels, label_of: labelOf } }: { of: Labelled }) {
  if (labels.length === 0) return null;
  if (labels.length > MOST_NAMED) {
    return (
      <p class="legend" aria-label="Labels">
        {formatCount(labels.length)} labels, from “{labels[0]}” (pale) to “{labels.at(-1)}”
      </p>
    );
  }
  const counts = labels.map(() => 0);
  for (const label of labelOf) counts[label]! += 1;
  return (
    <ul class="legend an-legend" aria-label="Labels">
      {labels.map((name, label) => (
        <li key={label}>
          <svg width="12" height="12" aria-hidden="true">
            <Mark x={6} y={6} size={4} label={label} numLabels={labels.length} />
          </svg>
          <span class="clip">{name}</span>
          <span class="muted" title="items">× {formatCount(counts[label]!)}</span>
        </li>
      ))}
    </ul>
  );
}

interface MarkProps {
  x: number;
  y: number;
  /** Half of its width. */
  size: number;
  label: number | undefined;
  numLabels: number;
  isOn?: boolean;
}

/** A point of a chart: its shape says what its colour alone does not. */
export function Mark({ x, y, size, label, numLabels, isOn = false }: MarkProps) {
  const look = { fill: labelColour(label, numLabels), class: isOn ? "an-mark on" : "an-mark" };
  const shape = labelShape(label, numLabels);
  if (shape === 0) return <circle cx={x} cy={y} r={size} {...look} />;
  if (shape === 1) return <rect x={x - size} y={y - size} width={2 * size} height={2 * size} {...look} />;
  return <path d={`M${x} ${y - size * 1.2}L${x + size * 1.2} ${y + size}H${x - size * 1.2}Z`} {...look} />;
}
