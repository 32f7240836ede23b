/** The drawing of the pass: a canvas to move about in, with its controls floating over it. */
import { effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import * as store from "../store";
import { ColourBy } from "./ColourBy";
import { drawing } from "./describing";
import { HoverTip } from "./HoverTip";
import { handleKey } from "./keyboard";
import { LayoutBar } from "./LayoutBar";
import { startLayouts } from "./layoutflow";
import { LegendBox } from "./LegendBox";
import { Minimap } from "./Minimap";
import { paint } from "./paint";
import { readPalette, type Palette } from "./palette";
import { Pointing } from "./pointing";
import { startMeasuring } from "./text";
import { SelectionStatus } from "./SelectionStatus";
import { camera, highlight, measure, scale, scene, shownHits, types, viewSize, watch } from "./viewstate";
import { ZoomBar } from "./ZoomBar";
import "./graph.css";

export function GraphView() {
  const canvasRef = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    startMeasuring(readPalette(canvasRef.current!).font);
    const stops = [startCanvas(canvasRef.current!), startLayouts()];
    return () => {
      for (const stop of stops) stop();
    };
  }, []);
  return (
    <div class="graph-view">
      <canvas
        ref={canvasRef}
        class="graph-canvas"
        tabIndex={0}
        role="application"
        aria-roledescription="graph"
        aria-label={drawing.value}
        onKeyDown={handleKey}
      />
      <HoverTip />
      <ColourBy />
      <ZoomBar />
      <LegendBox />
      <Minimap />
      <LayoutBar />
      <SelectionStatus />
    </div>
  );
}

/** Keep the canvas as large as its place, and paint it anew when anything that it shows has changed. */
function startCanvas(canvas: HTMLCanvasElement): () => void {
  const context = canvas.getContext("2d", { alpha: false })!;
  const pointing = new Pointing(canvas);
  let palette: Palette = readPalette(canvas);
  let waiting = 0;
  const repaint = (): void => {
    waiting = 0;
    const [all, lit] = [scene.peek(), highlight.peek()];
    const view = viewSize.peek();
    const pixelRatio = devicePixelRatio;
    const [width, height] = [Math.round(view.width * pixelRatio), Math.round(view.height * pixelRatio)];
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    if (all === null || lit === null) {
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.fillStyle = palette.background;
      context.fillRect(0, 0, width, height);
      return;
    }
    paint(context, {
      scene: all,
      hierarchy: all.hierarchy,
      camera: camera.peek(),
      view,
      pixelRatio,
      palette,
      highlight: lit,
      hovered: store.hovered.peek(),
      hits: shownHits.peek(),
      measure: measure.peek(),
      scale: scale.peek(),
      types: types.peek(),
      isBackward: store.flow.peek() === "backward",
      showBuffers: store.showBuffers.peek(),
    });
  };
  const schedule = (): void => {
    if (waiting === 0) waiting = requestAnimationFrame(repaint);
  };
  const stopPainting = effect(() => {
    watch(scene, camera, viewSize, highlight, measure, scale, types);
    watch(store.hovered, shownHits, store.flow, store.showBuffers);
    schedule();
  });
  const stopTheme = effect(() => {
    watch(store.themeTick);
    palette = readPalette(canvas);
    schedule();
  });
  const observer = new ResizeObserver(([entry]) => {
    const { width, height } = entry!.contentRect;
    viewSize.value = { width, height };
  });
  observer.observe(canvas);
  return () => {
    stopPainting();
    stopTheme();
    observer.disconnect();
    pointing.stop();
    cancelAnimationFrame(waiting);
  };
}
