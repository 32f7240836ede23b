/** The keys of the drawing: from point to point, its neighbours, the camera. */
import { setParams } from "../route";
import { startCamera, zoomed } from "./camera";
import { addToSelection, clearChoice, look, toggleSelected } from "./choosing";
import type { Cloud } from "./cloud";
import * as store from "./store";

const ARROWS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowRight: [1, 0],
  ArrowLeft: [-1, 0],
  ArrowDown: [0, 1],
  ArrowUp: [0, -1],
};

/** Keys that hold anywhere on the page. True where one was taken. */
export function handlePageKey(cloud: Cloud | null, key: string): boolean {
  if (key === "2" || key === "3") setParams({ dims: key === "3" ? null : "2" });
  else if (key === "Escape") return clearChoice();
  else if (cloud === null) return false;
  else if (key === "0") fit(cloud);
  else if (key === "+" || key === "=") zoomBy(cloud, 1.25);
  else if (key === "-" || key === "\u2212") zoomBy(cloud, 0.8);
  else return false;
  return true;
}

/** Keys of the drawing itself, while it has the focus. */
export function handleStageKey(cloud: Cloud, key: string): boolean {
  const arrow = ARROWS[key];
  const at = store.hovered.peek() ?? store.focus.peek();
  if (arrow !== undefined) {
    step(cloud, at, arrow);
    return true;
  }
  if (key !== "Enter" && key !== " ") return false;
  if (at === null) return true;
  if (key === " ") toggleSelected(at);
  // Once for its neighbours, twice to choose them.
  else if (store.focus.peek() === at) addToSelection([at, ...store.neighbours.peek().map((one) => one.point)]);
  else look(at);
  return true;
}

function step(cloud: Cloud, from: number | null, [byX, byY]: readonly [number, number]): void {
  const { width, height } = cloud.size;
  const next =
    from === null
      ? cloud.index.nearest(width / 2, height / 2, Math.max(width, height))
      : cloud.index.towards(from, byX, byY);
  if (next >= 0) store.hovered.value = next;
}

export function fit(cloud: Cloud): void {
  cloud.look(startCamera(store.dims.peek()));
}

export function zoomBy(cloud: Cloud, factor: number): void {
  cloud.look(zoomed(cloud.camera, factor, cloud.size.width / 2, cloud.size.height / 2, cloud.size));
}
