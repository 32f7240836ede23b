/** Which part of a box that scrolls is seen. */
import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

export interface View {
  readonly top: number;
  readonly height: number;
}

export function useView(box: RefObject<HTMLElement | null>): View {
  const [view, setView] = useState<View>({ top: 0, height: 400 });
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const measure = (): void => {
      const { scrollTop: top, clientHeight: height } = element;
      setView((before) => (before.top === top && before.height === height ? before : { top, height }));
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
  return view;
}
