/** Is an element on the screen or near it? Nothing is fetched or drawn for one that is not. */
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

const MARGIN = "400px";

export function useNear<Type extends Element>(): [RefObject<Type | null>, boolean] {
  const element = useRef<Type>(null);
  const [isNear, setIsNear] = useState(false);
  useEffect(() => {
    if (element.current === null) return undefined;
    const observer = new IntersectionObserver(
      (entries) => setIsNear(entries.at(-1)?.isIntersecting === true),
      // The page scrolls inside a panel, and a margin counts only for a root that is named.
      { root: element.current.closest(".panel-body"), rootMargin: MARGIN },
    );
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return [element, isNear];
}
