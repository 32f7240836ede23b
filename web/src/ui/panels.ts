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

interface PanelKind {
  /** Until somebody sizes it. */
  readonly width: number;
  /** On the button that opens it. */
  readonly title: string;
  /** In a sentence: the width of … */
  readonly phrase: string;
  readonly icon: IconName;
}

interface AreaKind extends Partial<Record<Side, PanelKind>> {
  readonly minMiddle: number;
}

const panel = (width: number, title: string, phrase: string, icon: IconName): PanelKind => ({ width, title, phrase, icon });

const AREAS: Record<Area, AreaKind> = {
  graph: {
    left: panel(244, "Modules", "the module panel", "tree"),
    right: panel(344, "Inspector", "the inspector", "details"),
    minMiddle: 480,
  },
  netview: {
    left: panel(232, "Variables and layers", "the list of layers", "tree"),
    right: panel(264, "Colour and unit", "the panel of the unit", "details"),
    minMiddle: 480,
  },
  control: { left: panel(248, "Parameters", "the parameters", "details"), minMiddle: 480 },
  training: { left: panel(248, "Runs and options", "the list of runs", "tree"), minMiddle: 480 },
  features: { left: panel(264, "Features and layers", "the list of layers", "tree"), minMiddle: 480 },
  learn: {
    left: panel(324, "Expression and steps", "the expression", "tree"),
    right: panel(424, "Step", "the panel of the step", "details"),
    minMiddle: 480,
  },
  runs: { right: panel(MAX_WIDTH, "Compare", "the comparison", "details"), minMiddle: 904 },
};

function defaultWidths(area: Area): Widths {
  return { left: AREAS[area].left?.width ?? 0, right: AREAS[area].right?.width ?? 0 };
}

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
  const wanted = widths.value[area] ?? defaultWidths(area);
  const used = (side: Side): number => (AREAS[area][side] !== undefined && panels.value[side] ? wanted[side] : 0);
  const over = Math.max(0, used("left") + used("right") - (pageWidth.value - AREAS[area].minMiddle));
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
  widths.value = { ...widths.value, [area]: { ...(widths.value[area] ?? defaultWidths(area)), [side]: next } };
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
  const found = defaultWidths(area);
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

/** Undefined where this part of the page has no such panel. */
export function panelName(side: Side): PanelKind | undefined {
  return AREAS[shownArea.value][side];
}
