/** What moves and zooms as a whole. Its cards are not made anew for that. */
import type { ComponentChildren } from "preact";
import { camera, isHeld } from "./view";

export function Drawing({ children }: { children: ComponentChildren }) {
  const { x, y, scale } = camera.value;
  return (
    <div
      class={isHeld.value ? "learn-drawing held" : "learn-drawing"}
      style={{ transform: `translate(${-x * scale}px, ${-y * scale}px) scale(${scale})` }}
    >
      {children}
    </div>
  );
}
