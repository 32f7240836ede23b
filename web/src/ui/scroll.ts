/** How far a box is scrolled, kept for as long as the tab is there: on reload, and when a view is left and comes back. */
import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { recall, remember } from "../data/remembered";
import { followSize } from "./useSize";

/** What has not grown tall enough by then has changed. */
const PATIENCE_MS = 3000;

export function useScrollMemory(box: RefObject<HTMLElement | null>, name: string): void {
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || name === "") return undefined;
    const memory = `scroll.${name}`;
    const stopRestoring = restore(element, Number(recall(memory, "sessionStorage")) || 0);
    const keep = (): void => remember(memory, String(Math.round(element.scrollTop)), "sessionStorage");
    addEventListener("pagehide", keep);
    return () => {
      stopRestoring();
      keep();
      removeEventListener("pagehide", keep);
    };
  }, [name]);
}

/** Scroll there, also when what is scrolled only comes bit by bit; whoever scrolls meanwhile knows better. */
function restore(element: HTMLElement, top: number): () => void {
  if (top <= 0) return () => undefined;
  const grown = new MutationObserver(() => scroll());
  const timer = setTimeout(() => stop(), PATIENCE_MS);
  const waiting = new AbortController();
  const stop = (): void => {
    clearTimeout(timer);
    grown.disconnect();
    waiting.abort();
  };
  const scroll = (): void => {
    element.scrollTop = top;
    if (Math.abs(element.scrollTop - top) < 1) stop();
  };
  for (const event of ["wheel", "pointerdown", "keydown"]) element.addEventListener(event, stop, waiting);
  grown.observe(element, { childList: true, subtree: true });
  scroll();
  return stop;
}

// --- Which rows of a long list are put into the page: those in view of the box that scrolls.

interface InView extends Rows {
  /** Where the box is scrolled to, and how much of it is seen. */
  readonly top: number;
  readonly height: number;
  readonly reveal: (row: number) => void;
}

/** `headHeight` is what stands over the rows and stays when they scroll. */
export function useRowsInView(
  box: RefObject<HTMLElement | null>,
  count: number,
  rowHeight: number,
  headHeight = 0,
): InView {
  const [view, setView] = useState({ top: 0, height: 800 });
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const measure = (): void => {
      const next = { top: element.scrollTop, height: element.clientHeight };
      setView((before) => (before.top === next.top && before.height === next.height ? before : next));
    };
    const stopFollowing = followSize(element, measure);
    element.addEventListener("scroll", measure, { passive: true });
    return () => {
      stopFollowing();
      element.removeEventListener("scroll", measure);
    };
  }, []);
  const reveal = (row: number): void => {
    const element = box.current;
    if (element === null) return;
    const to = scrollFor(row, rowHeight, element.scrollTop, element.clientHeight - headHeight);
    if (to !== null) element.scrollTop = to;
  };
  return { ...view, ...rowsInView(count, rowHeight, view.top, view.height), reveal };
}

export interface Rows {
  readonly first: number;
  /** One past the last. */
  readonly end: number;
}

/** Below this many rows all of them are there. */
export const MAX_PLAIN_ROWS = 200;
const SPARE = 10;

export function rowsInView(count: number, rowHeight: number, scrollTop: number, viewHeight: number): Rows {
  if (count <= MAX_PLAIN_ROWS) return { first: 0, end: count };
  const first = Math.max(0, Math.min(Math.floor(scrollTop / rowHeight) - SPARE, count - 1));
  const end = Math.min(count, Math.ceil((scrollTop + viewHeight) / rowHeight) + SPARE);
  return { first, end: Math.max(end, first) };
}

/** Where to scroll so that a row is in view, or null where it is. Rows far off are put in the middle. */
export function scrollFor(
  row: number,
  rowHeight: number,
  scrollTop: number,
  viewHeight: number,
): number | null {
  const top = row * rowHeight;
  if (top >= scrollTop && top + rowHeight <= scrollTop + viewHeight) return null;
  const isNear = Math.abs(top - scrollTop) < viewHeight * 1.5;
  if (!isNear) return Math.max(0, top - (viewHeight - rowHeight) / 2);
  return Math.max(0, top < scrollTop ? top : top + rowHeight - viewHeight);
}
