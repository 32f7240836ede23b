/** Which side panels are there, and how wide: docked, folded away below 1100 px, sheets below 800 px. */
import { computed, type ReadonlySignal, signal } from "@preact/signals";
import { recall, remember } from "../data/remembered";
import { type Area, shownArea } from "../data/views";
import type { IconName } from "./Icon";

export type Side = "left" | "right";
export type WidthClass = "wide" | "middle" | "narrow";

/** A size that somebody drags, kept between visits. */
export interface RememberedSize {
  readonly size: ReadonlySignal<number>;
  readonly least: number;
  readonly most: number;
  readonly resize: (size: number) => void;
}

export function rememberedSize(name: string, least: number, most: number, first: number): RememberedSize {
  const within = (wanted: number): number => Math.max(least, Math.min(most, Math.round(wanted)));
  const known = Number(recall(name));
  const size = signal(known > 0 ? within(known) : first);
  const resize = (wanted: number): void => {
    size.value = within(wanted);
    remember(name, String(size.value));
  };
  return { size, least, most, resize };
}

export const WIDTH_LIMITS = { least: 232, most: 428 };

interface PanelKind extends RememberedSize {
  readonly title: string;
  /** In a sentence: the width of … */
  readonly phrase: string;
  readonly icon: IconName;
}

interface AreaKind extends Partial<Record<Side, PanelKind>> {
  readonly minMiddle: number;
}

/** `width` is that of a panel that nobody has sized. */
function panel(memory: string, width: number, title: string, phrase: string, icon: IconName): PanelKind {
  return { title, phrase, icon, ...rememberedSize(`${memory}-width`, WIDTH_LIMITS.least, WIDTH_LIMITS.most, width) };
}

const AREAS: Record<Area, AreaKind> = {
  graph: {
    left: panel("left", 244, "Modules", "the module panel", "tree"),
    right: panel("right", 344, "Inspector", "the inspector", "details"),
    minMiddle: 480,
  },
  netview: {
    left: panel("netview-left", 232, "Variables and layers", "the list of layers", "tree"),
    right: panel("netview-right", 264, "Colour and unit", "the panel of the unit", "details"),
    minMiddle: 480,
  },
  control: { left: panel("control-left", 248, "Parameters", "the parameters", "details"), minMiddle: 480 },
  training: { left: panel("training-left", 248, "Runs and options", "the list of runs", "tree"), minMiddle: 480 },
  features: { left: panel("features-left", 264, "Features and layers", "the list of layers", "tree"), minMiddle: 480 },
  learn: {
    left: panel("learn-left", 324, "Expression and steps", "the expression", "tree"),
    right: panel("learn-right", 424, "Step", "the panel of the step", "details"),
    minMiddle: 480,
  },
  runs: { right: panel("runs-right", WIDTH_LIMITS.most, "Compare", "the comparison", "details"), minMiddle: 904 },
};

/** Chosen by hand; null follows the width of the page. */
type Choice = Record<Side, boolean | null>;

const pageWidth = signal(1440);
/** Of each part of the page for itself. */
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
export const panelWidth = computed<Record<Side, number>>(() => {
  const { minMiddle, ...kinds } = AREAS[shownArea.value];
  const wanted = (side: Side): number => kinds[side]?.size.value ?? 0;
  const used = (side: Side): number => (panels.value[side] ? wanted(side) : 0);
  const over = Math.max(0, used("left") + used("right") - (pageWidth.value - minMiddle));
  // The inspector gives way first: the tree is narrow already.
  const { least } = WIDTH_LIMITS;
  const fromRight = Math.min(over, Math.max(0, used("right") - least));
  return {
    left: Math.max(least, wanted("left") - (over - fromRight)),
    right: Math.max(least, wanted("right") - fromRight),
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

export function resizePanel(side: Side, width: number): void {
  AREAS[shownArea.value][side]?.resize(width);
}

export function startPanels(): void {
  const measure = (): void => {
    const before = classOf(pageWidth.value);
    pageWidth.value = innerWidth;
    if (classOf(innerWidth) !== before) choices.value = {};
  };
  measure();
  addEventListener("resize", measure);
}

/** Undefined where this part of the page has no such panel. */
export function panelName(side: Side): PanelKind | undefined {
  return AREAS[shownArea.value][side];
}
