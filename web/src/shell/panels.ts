/** Which side panels are there, and how wide: docked, folded away below 1100 px, sheets below 800 px. */
import { computed, signal, type Signal } from "@preact/signals";
import { recall, remember } from "../remembered";

export type Side = "left" | "right";
export type WidthClass = "wide" | "middle" | "narrow";

const MIN_WIDTH = 232;
const MAX_WIDTH = 428;
const MIN_DRAWING = 480;
const DEFAULT: Record<Side, number> = { left: 244, right: 344 };

const pageWidth = signal(1440);
const widths: Record<Side, Signal<number>> = {
  left: signal(DEFAULT.left),
  right: signal(DEFAULT.right),
};
/** Chosen by hand; null follows the width of the page. */
const chosen = signal<Record<Side, boolean | null>>({ left: null, right: null });

export function classOf(width: number): WidthClass {
  if (width < 800) return "narrow";
  return width < 1100 ? "middle" : "wide";
}

/** What is open where nobody chose: both, the inspector alone, or neither. */
export function openByDefault(side: Side, width: WidthClass): boolean {
  return width === "wide" || (width === "middle" && side === "right");
}

export const panels = computed(() => {
  const width = classOf(pageWidth.value);
  const isOpen = (side: Side): boolean => chosen.value[side] ?? openByDefault(side, width);
  return { width, left: isOpen("left"), right: isOpen("right") };
});

/** Width of a panel in pixels: what was chosen, as far as the drawing keeps its room. */
export const panelWidth = computed(() => {
  const { left, right } = panels.value;
  const [wantLeft, wantRight] = [widths.left.value, widths.right.value];
  const room = pageWidth.value - MIN_DRAWING;
  const used = (left ? wantLeft : 0) + (right ? wantRight : 0);
  const over = Math.max(0, used - room);
  // The inspector gives way first: the tree is narrow already.
  const newRight = Math.max(MIN_WIDTH, wantRight - over);
  const newLeft = Math.max(MIN_WIDTH, wantLeft - Math.max(0, over - (wantRight - newRight)));
  return { left: newLeft, right: newRight };
});

export function togglePanel(side: Side): void {
  setPanel(side, !panels.value[side]);
}

export function setPanel(side: Side, isOpen: boolean): void {
  const next = { ...chosen.value, [side]: isOpen };
  // Two sheets would cover each other.
  if (isOpen && panels.value.width === "narrow") next[side === "left" ? "right" : "left"] = false;
  chosen.value = next;
}

export function clampWidth(width: number): number {
  return Math.max(MIN_WIDTH, Math.min(MAX_WIDTH, Math.round(width)));
}

export function resizePanel(side: Side, width: number): void {
  const next = clampWidth(width);
  widths[side].value = next;
  remember(`${side}-width`, String(next));
}

/** Follow the width of the window and take over what was chosen on an earlier visit. */
export function startPanels(): void {
  for (const side of ["left", "right"] as const) {
    const known = Number(recall(`${side}-width`));
    if (known > 0) widths[side].value = clampWidth(known);
  }
  const measure = (): void => {
    const before = classOf(pageWidth.value);
    pageWidth.value = innerWidth;
    if (classOf(innerWidth) !== before) chosen.value = { left: null, right: null };
  };
  measure();
  addEventListener("resize", measure);
}

export const WIDTH_LIMITS = { min: MIN_WIDTH, max: MAX_WIDTH };
