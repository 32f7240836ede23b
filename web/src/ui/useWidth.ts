/** The width of an element, followed as it changes. */
import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { obtain } from "../data/collections";
import { useSize } from "./useSize";

export function useWidth<T extends HTMLElement>(initial: number): [RefObject<T | null>, number] {
  const [box, { width }] = useSize<T>();
  return [box, width || initial];
}

const MARGIN = 400;

type Tell = (isNear: boolean) => void;

interface Watch {
  readonly observer: IntersectionObserver;
  readonly told: Map<Element, Tell>;
}

/** One observer for each part of the page that scrolls: a margin counts only for a root that is named. */
const watches = new WeakMap<Element, Watch>();

function watch(root: Element): Watch {
  const told = new Map<Element, Tell>();
  const hear = (entries: readonly IntersectionObserverEntry[]): void => {
    for (const { target, isIntersecting } of entries) told.get(target)?.(isIntersecting);
  };
  return { observer: new IntersectionObserver(hear, { root, rootMargin: `${MARGIN}px 0px` }), told };
}

/** Is an element on the screen, or near it? Nothing is fetched or drawn for one that is not. */
export function useNear(box: RefObject<Element | null>): boolean {
  const [isNear, setIsNear] = useState(false);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const root = element.closest(".panel-body") ?? document.documentElement;
    const { observer, told } = obtain(watches, root, () => watch(root));
    const [place, room] = [element.getBoundingClientRect(), root.getBoundingClientRect()];
    // At once, before the page is painted: the observer tells it a frame later.
    setIsNear(place.bottom >= room.top - MARGIN && place.top <= room.bottom + MARGIN);
    told.set(element, setIsNear);
    observer.observe(element);
    return () => {
      observer.unobserve(element);
      told.delete(element);
    };
  }, []);
  return isNear;
}
