/** Move the camera: at once while a hand moves it, in 280 ms when a button or key does. */
import { between, eased, fitted, zoomedAt, type Camera } from "./camera";
import type { Rect } from "./scene";
import { camera, scene, viewSize } from "./viewstate";

const DURATION_MS = 280;

let running = 0;

export function jumpTo(next: Camera): void {
  cancelAnimationFrame(running);
  camera.value = next;
}

export function glideTo(next: Camera): void {
  cancelAnimationFrame(running);
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
    camera.value = next;
    return;
  }
  const from = camera.peek();
  const start = performance.now();
  const step = (now: number): void => {
    const share = Math.min(1, Math.max(0, now - start) / DURATION_MS);
    camera.value = share === 1 ? next : between(from, next, viewSize.peek(), eased(share));
    if (share < 1) running = requestAnimationFrame(step);
  };
  running = requestAnimationFrame(step);
}

/** Show all of the picture, or a part of it. */
export function fit(part: Rect | null = scene.peek()): void {
  if (part !== null) glideTo(fitted(part, viewSize.peek()));
}

/** Zoom about the middle of the view. */
export function zoomBy(factor: number): void {
  const { width, height } = viewSize.peek();
  glideTo(zoomedAt(camera.peek(), width / 2, height / 2, factor));
}
