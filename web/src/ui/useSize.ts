/** How much room an element has, followed as it changes. */
import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

export interface Room {
  readonly width: number;
  readonly height: number;
}

/** Hear of it now and whenever it changes, until the function that is returned is called. */
export function followSize(element: Element, hear: (room: Room) => void): () => void {
  const measure = (): void => hear({ width: element.clientWidth, height: element.clientHeight });
  measure();
  const observer = new ResizeObserver(measure);
  observer.observe(element);
  return () => observer.disconnect();
}

export function useSize<T extends HTMLElement>(): [RefObject<T | null>, Room] {
  const box = useRef<T>(null);
  const [room, setRoom] = useState<Room>({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const hear = (next: Room): void =>
      setRoom((now) => (now.width === next.width && now.height === next.height ? now : next));
    return box.current === null ? undefined : followSize(box.current, hear);
  }, []);
  return [box, room];
}
