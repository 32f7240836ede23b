/** Which rows of a long list are put into the page: those in view of the box that scrolls. */
import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { rowsInView, scrollFor, type Rows } from "../windowing";

interface InView extends Rows {
  /** Scroll so that a row is in view. */
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
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, []);
  const reveal = (row: number): void => {
    const element = box.current;
    if (element === null) return;
    const to = scrollFor(row, rowHeight, element.scrollTop, element.clientHeight - headHeight);
    if (to !== null) element.scrollTop = to;
  };
  return { ...rowsInView(count, rowHeight, view.top, view.height), reveal };
}
