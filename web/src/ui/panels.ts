/** Which side panels are there, and how wide: docked, folded away below 1100 px, sheets below 800 px. */
import { computed, signal } from "@preact/signals";
import { recall, remember } from "../data/remembered";
import { type Area, shownArea } from "../data/views";
import type { IconName } from "./Icon";

export type Side = "left" | "right";
export type WidthClass = "wide" | "middle" | "narrow";

const SIDES: readonly Side[] = ["left", "right"];
const MIN_WIDTH = 232;
const MAX_WIDTH = 428;
const AREAS: Record<Area, { readonly left: number; readonly right: number; readonly minMiddle: number }> = {
  graph: { left: 244, right: 344, minMiddle: 480 },
  netview: { left: 232, right: 264, minMiddle: 480 },
  control: { left: 248, right: 0, minMiddle: 480 },
  training: { left: 248, right: 0, minMiddle: 480 },
  features: { left: 264, right: 0, minMiddle: 480 },
  learn: { left: 324, right: 424, minMiddle: 480 },
  runs: { left: 0, right: MAX_WIDTH, minMiddle: 904 },
};

type Widths = Record<Side, number>;
/** Chosen by hand; null follows the width of the page. */
type Choice = Record<Side, boolean | null>;

const pageWidth = signal(1440);
/** What was chosen, each part of the page for itself. */
const widths = signal<Partial<Record<Area, Widths>>>({});
const choices = signal<Partial<Record<Area, Choice>>>({});

export function classOf(width: number): WidthClass {
  if (width < 800) return "narrow";
  return width < 1100 ? "middle" : "wide";
}

/** What is open where nobody chose: both, the inspector or the step alone, or neither. */
export function openByDefault(side: Side, width: WidthClass, area: Area): boolean {
  return width === "wide" || (width === "middle" && side === "right" && (area === "graph" || area === "learn"));
}

export const panels = computed(() => {
  const [width, area] = [classOf(pageWidth.value), shownArea.value];
  const isOpen = (side: Side): boolean => choices.value[area]?.[side] ?? openByDefault(side, width, area);
  return { width, left: isOpen("left"), right: isOpen("right") };
});

/** Width of a panel in pixels: what was chosen, as far as the middle keeps its room. */
export const panelWidth = computed<Widths>(() => {
  const area = shownArea.value;
  const [defaults, wanted] = [AREAS[area], widths.value[area] ?? AREAS[area]];
  const used = (side: Side): number => (defaults[side] > 0 && panels.value[side] ? wanted[side] : 0);
  const over = Math.max(0, used("left") + used("right") - (pageWidth.value - defaults.minMiddle));
  // The inspector gives way first: the tree is narrow already.
  const fromRight = Math.min(over, Math.max(0, used("right") - MIN_WIDTH));
  return {
    left: Math.max(MIN_WIDTH, wanted.left - (over - fromRight)),
    right: Math.max(MIN_WIDTH, wanted.right - fromRight),
  };
});

export function togglePanel(side: Side): void {
  setPanel(side, !panels.value[side]);
}

export function setPanel(side: Side, isOpen: boolean): void {
  const area = shownArea.value;
  const next: Choice = { ...(choices.value[area] ?? { left: null, right: null }), [side]: isOpen };
  // Two sheets would cover each other.
  if (isOpen && panels.value.width === "narrow") next[side === "left" ? "right" : "left"] = false;
  choices.value = { ...choices.value, [area]: next };
}

export function clampWidth(width: number): number {
  return Math.max(MIN_WIDTH, Math.min(MAX_WIDTH, Math.round(width)));
}

export function resizePanel(side: Side, width: number): void {
  const area = shownArea.value;
  const next = clampWidth(width);
  widths.value = { ...widths.value, [area]: { ...(widths.value[area] ?? AREAS[area]), [side]: next } };
  remember(memoryOf(area, side), String(next));
}

/** Follow the width of the window and take over what was chosen on an earlier visit. */
export function startPanels(): void {
  widths.value = Object.fromEntries((Object.keys(AREAS) as Area[]).map((area) => [area, recalled(area)]));
  const measure = (): void => {
    const before = classOf(pageWidth.value);
    pageWidth.value = innerWidth;
    if (classOf(innerWidth) !== before) choices.value = {};
  };
  measure();
  addEventListener("resize", measure);
}

function recalled(area: Area): Widths {
  const found = { left: AREAS[area].left, right: AREAS[area].right };
  for (const side of SIDES) {
    const known = Number(recall(memoryOf(area, side)));
    if (known > 0) found[side] = clampWidth(known);
  }
  return found;
}

function memoryOf(area: Area, side: Side): string {
  return area === "graph" ? `${side}-width` : `${area}-${side}-width`;
}

export const WIDTH_LIMITS = { min: MIN_WIDTH, max: MAX_WIDTH };

// --- What the side panels of each part of the page are called, for those who open, size and hide them.

interface PanelName {
  /** On the button that opens it. */
  readonly title: string;
  /** In a sentence: the width of … */
  readonly phrase: string;
  readonly icon: IconName;
}

const NAMES: Record<Area, Partial<Record<Side, PanelName>>> = {
  runs: { right: { title: "Compare", phrase: "the comparison", icon: "details" } },
  graph: {
    left: { title: "Modules", phrase: "the module panel", icon: "tree" },
    right: { title: "Inspector", phrase: "the inspector", icon: "details" },
  },
  netview: {
    left: { title: "Variables and layers", phrase: "the list of layers", icon: "tree" },
    right: { title: "Colour and unit", phrase: "the panel of the unit", icon: "details" },
  },
  control: { left: { title: "Parameters", phrase: "the parameters", icon: "details" } },
  features: { left: { title: "Features and layers", phrase: "the list of layers", icon: "tree" } },
  learn: {
    left: { title: "Expression and steps", phrase: "the expression", icon: "tree" },
    right: { title: "Step", phrase: "the panel of the step", icon: "details" },
  },
  training: { left: { title: "Runs and options", phrase: "the list of runs", icon: "tree" } },
};

/** Undefined where this part of the page has no such panel. */
export function panelName(side: Side): PanelName | undefined {
  return NAMES[shownArea.value][side];
}
