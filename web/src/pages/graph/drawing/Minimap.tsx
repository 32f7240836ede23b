/** The whole picture, small, with the part that is on screen; drag in it to move. */
import type { TargetedPointerEvent } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { centred, shownPart, type Size } from "../../../ui/pan-zoom";
import { jumpTo } from "./camera";
import { palette } from "./pen";
import type { Scene } from "./scene";
import { camera, highlight, paintOnChange, scene, viewSize } from "./view-state";

const MOST: Size = { width: 112, height: 176 };

export function Minimap() {
  const canvasRef = useRef<HTMLCanvasElement>(null);
  const all = scene.value;
  const part = shownPart(camera.value, viewSize.value);
  const [right, bottom] = [part.x + part.width, part.y + part.height];
  const isShown = all !== null && (part.x > 0 || part.y > 0 || right < all.width || bottom < all.height);
  useEffect(() => {
    const context = canvasRef.current?.getContext("2d");
    return context == null ? undefined : paintOnChange([scene, highlight, palette], () => paint(context));
  }, [isShown]);
  if (!isShown) return null;
  const { scale, left, top } = scaleFor(all);
  const [x, y] = [Math.max(1, left + part.x * scale), Math.max(1, top + part.y * scale)];
  const width = Math.max(3, Math.min(MOST.width - 1, left + right * scale) - x);
  const height = Math.max(3, Math.min(MOST.height - 1, top + bottom * scale) - y);
  return (
    <div class="float graph-map" role="img" aria-label="Map of the whole graph">
      <canvas
        ref={canvasRef}
        style={{ width: `${MOST.width}px`, height: `${MOST.height}px` }}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          go(event);
        }}
        onPointerMove={go}
      />
      <i style={{ left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` }} />
    </div>
  );
}

function scaleFor(all: Scene): { scale: number; left: number; top: number } {
  const scale = Math.min((MOST.width - 8) / all.width, (MOST.height - 8) / all.height);
  return { scale, left: (MOST.width - all.width * scale) / 2, top: (MOST.height - all.height * scale) / 2 };
}

/** Where somebody presses or drags, the middle of the view goes. */
function go({ buttons, clientX, clientY, currentTarget }: TargetedPointerEvent<HTMLCanvasElement>): void {
  const all = scene.peek();
  if (all === null || buttons === 0) return;
  const bounds = currentTarget.getBoundingClientRect();
  const { scale, left, top } = scaleFor(all);
  const at = { x: (clientX - bounds.left - left) / scale, y: (clientY - bounds.top - top) / scale, width: 0, height: 0 };
  jumpTo(centred(at, viewSize.peek(), camera.peek().scale));
}

function paint(context: CanvasRenderingContext2D): void {
  const all = scene.peek();
  if (all === null) return;
  const [{ line2, text, text3 }, selected] = [palette.peek(), highlight.peek()?.selected ?? ""];
  const ratio = devicePixelRatio;
  [context.canvas.width, context.canvas.height] = [MOST.width * ratio, MOST.height * ratio];
  const { scale, left, top } = scaleFor(all);
  context.setTransform(ratio, 0, 0, ratio, left * ratio, top * ratio);
  const [frames, boxes] = [new Path2D(), new Path2D()];
  for (const box of all.boxes.values()) {
    const [width, height] = [box.width * scale, box.height * scale];
    if (box.isOpen) {
      if (height > 6) frames.rect(box.x * scale, box.y * scale, width, height);
    } else boxes.rect(box.x * scale, box.y * scale, Math.max(0.8, width), Math.max(0.8, height));
  }
  context.lineWidth = 0.6;
  context.strokeStyle = line2;
  context.stroke(frames);
  context.globalAlpha = 0.45;
  context.fillStyle = text3;
  context.fill(boxes);
  context.globalAlpha = 1;
  const chosen = all.boxes.get(selected);
  if (chosen === undefined) return;
  const [width, height] = [Math.max(3, chosen.width * scale), Math.max(2, chosen.height * scale)];
  context.fillStyle = text;
  context.strokeStyle = text;
  context.lineWidth = 1;
  if (chosen.isOpen) context.strokeRect(chosen.x * scale, chosen.y * scale, width, height);
  else context.fillRect(chosen.x * scale, chosen.y * scale - 0.5, width, height);
}
