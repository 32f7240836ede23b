/** The whole picture, small, with the part that is on screen; drag in it to move. */
import { effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import * as store from "../../../data/store";
import { centred, shownPart, type Size } from "../../../ui/pan-zoom";
import { jumpTo } from "./camera";
import { readPalette } from "./pen";
import type { Scene } from "./scene";
import { camera, highlight, scene, viewSize, watch } from "./view-state";

const MOST: Size = { width: 112, height: 176 };

export function Minimap() {
  const canvasRef = useRef<HTMLCanvasElement>(null);
  const all = scene.value;
  const isWhole = all !== null && isAllShown(all);
  useEffect(() => {
    const canvas = canvasRef.current;
    return canvas === null ? undefined : startMap(canvas);
  }, [all === null || isWhole]);
  if (all === null || isWhole) return null;
  return (
    <div class="float graph-map" role="img" aria-label="Map of the whole graph">
      <canvas ref={canvasRef} style={{ width: `${MOST.width}px`, height: `${MOST.height}px` }} />
    </div>
  );
}

function isAllShown(all: Scene): boolean {
  const part = shownPart(camera.value, viewSize.value);
  const [right, bottom] = [part.x + part.width, part.y + part.height];
  return part.x <= 0 && part.y <= 0 && right >= all.width && bottom >= all.height;
}

function scaleFor(all: Scene): { scale: number; left: number; top: number } {
  const scale = Math.min((MOST.width - 8) / all.width, (MOST.height - 8) / all.height);
  return { scale, left: (MOST.width - all.width * scale) / 2, top: (MOST.height - all.height * scale) / 2 };
}

function startMap(canvas: HTMLCanvasElement): () => void {
  const context = canvas.getContext("2d")!;
  const ground = document.createElement("canvas");
  let waiting = 0;
  const repaint = (): void => {
    waiting = 0;
    const all = scene.peek();
    if (all === null) return;
    const ratio = devicePixelRatio;
    [canvas.width, canvas.height] = [MOST.width * ratio, MOST.height * ratio];
    context.drawImage(ground, 0, 0);
    const { scale, left, top } = scaleFor(all);
    const part = shownPart(camera.peek(), viewSize.peek());
    const x = Math.max(1, left + part.x * scale);
    const y = Math.max(1, top + part.y * scale);
    const width = Math.min(MOST.width - 1, left + (part.x + part.width) * scale) - x;
    const height = Math.min(MOST.height - 1, top + (part.y + part.height) * scale) - y;
    const { accent } = readPalette(canvas);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.beginPath();
    context.roundRect(x, y, Math.max(3, width), Math.max(3, height), 2);
    context.fillStyle = accent;
    context.globalAlpha = 0.08;
    context.fill();
    context.globalAlpha = 1;
    context.strokeStyle = accent;
    context.lineWidth = 1.2;
    context.stroke();
    context.setTransform(1, 0, 0, 1, 0, 0);
  };
  const schedule = (): void => {
    if (waiting === 0) waiting = requestAnimationFrame(repaint);
  };
  const stopGround = effect(() => {
    watch(store.themeTick);
    if (scene.value !== null) paintGround(ground, scene.value, highlight.value?.selected ?? null, canvas);
    schedule();
  });
  const stopView = effect(() => {
    watch(camera, viewSize);
    schedule();
  });
  const go = (event: PointerEvent): void => {
    const all = scene.peek();
    if (all === null || event.buttons === 0) return;
    const bounds = canvas.getBoundingClientRect();
    const { scale, left, top } = scaleFor(all);
    const x = (event.clientX - bounds.left - left) / scale;
    const y = (event.clientY - bounds.top - top) / scale;
    jumpTo(centred({ x, y, width: 0, height: 0 }, viewSize.peek(), camera.peek().scale));
  };
  const press = (event: PointerEvent): void => {
    canvas.setPointerCapture(event.pointerId);
    go(event);
  };
  canvas.addEventListener("pointerdown", press);
  canvas.addEventListener("pointermove", go);
  return () => {
    stopGround();
    stopView();
    cancelAnimationFrame(waiting);
    canvas.removeEventListener("pointerdown", press);
    canvas.removeEventListener("pointermove", go);
  };
}

/** The boxes do not change while the camera moves, so that they are painted once. */
function paintGround(ground: HTMLCanvasElement, all: Scene, selected: string | null, styled: Element): void {
  const palette = readPalette(styled);
  const ratio = devicePixelRatio;
  [ground.width, ground.height] = [MOST.width * ratio, MOST.height * ratio];
  const context = ground.getContext("2d")!;
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
  context.strokeStyle = palette.line2;
  context.stroke(frames);
  context.globalAlpha = 0.45;
  context.fillStyle = palette.text3;
  context.fill(boxes);
  context.globalAlpha = 1;
  const chosen = selected === null ? undefined : all.boxes.get(selected);
  if (chosen === undefined) return;
  const [width, height] = [Math.max(3, chosen.width * scale), Math.max(2, chosen.height * scale)];
  context.fillStyle = palette.text;
  context.strokeStyle = palette.text;
  context.lineWidth = 1;
  if (chosen.isOpen) context.strokeRect(chosen.x * scale, chosen.y * scale, width, height);
  else context.fillRect(chosen.x * scale, chosen.y * scale - 0.5, width, height);
}
