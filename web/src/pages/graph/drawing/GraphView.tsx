/** The drawing of the pass: a canvas to move about in, with its controls floating over it. */
import { computed } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { formatBytes, formatCount, formatNumberOf, formatSeconds, formatShape } from "../../../data/format";
import type { GraphNode } from "../../../data/pass/model";
import { shapeRange } from "../../../data/pass/node-words";
import * as store from "../../../data/store";
import { type Rect, shownPart, toScreen } from "../../../ui/pan-zoom";
import { type PlacedChip, shownChips, SIZES } from "../../../ui/graph-layout/layout-graph";
import { followSize } from "../../../ui/useSize";
import { startMeasuring } from "../../../ui/text-width";
import { ShareBar } from "../../../ui/Blank";
import { ColourBy, Minimap, ZoomBar } from "./Controls";
import { paintBoxes, paintFrames, paintHeaders, paintLandmarks, paintOutlines } from "./boxes";
import { startLayouts } from "./layout-flow";
import { LEGIBLE, type Painting, type PaintState, palette, TextFitter } from "./pen";
import { followMouse, handleKey } from "./pointer";
import { chipPlaces, type Visible } from "./scene";
import { camera, highlight, isPointerOver, layoutFailure, layoutWait, paintOnChange, picture, scene, viewSize } from "./view-state";
import { paintWires } from "./wires";
import "./graph.css";

export function GraphView() {
  const canvasRef = useRef<HTMLCanvasElement>(null);
  useEffect(() => startCanvas(canvasRef.current!), []);
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
      {/* Says what is selected, for those who do not see it. */}
      <div class="sr" role="status" aria-live="polite">
        {selection.value}
      </div>
    </div>
  );
}

/** Keep the canvas as large as its place, and paint it anew when anything that it shows has changed. */
function startCanvas(canvas: HTMLCanvasElement): () => void {
  const context = canvas.getContext("2d", { alpha: false })!;
  startMeasuring(palette.value.font);
  const stops = [
    followMouse(canvas),
    paintOnChange([picture, viewSize, palette], () => paint(context)),
    followSize(canvas, (size) => (viewSize.value = size)),
    startLayouts(),
  ];
  return () => stops.forEach((stop) => stop());
}

// --- The drawing and its selection in words, for those who do not see it.

const drawing = computed(() => {
  const pass = store.document.value;
  if (pass === null) return "Graph";
  const ops = formatNumberOf(pass.ops.length, "op");
  return `Computational graph of ${pass.model_name}, ${ops}. Arrow keys follow the edges, Enter opens a module.`;
});

const selection = computed(() => {
  const [pass, tree, key, lit] = [store.document.value, store.hierarchy.value, store.selected.value, highlight.value];
  const node = key === null ? undefined : tree?.nodes.get(key);
  if (pass === null || node === undefined || lit === null) return "";
  const parts = [node.title, node.subtitle];
  const [op] = node.ops;
  if (node.kind === "group") {
    parts.push(formatNumberOf(node.numOps, "op"), store.openGroups.value.has(node.key) ? "open" : "closed");
  } else if (op !== undefined) {
    parts.push(`op ${formatCount(op + 1)} of ${formatCount(pass.ops.length)}`, formatShape(pass.ops[op]!.shape));
  }
  parts.push(formatNumberOf(lit.up.size, "ancestor"), formatNumberOf(lit.down.size, "descendant"));
  return parts.filter((part) => part !== "").join(", ");
});

/** What the colours of edges mean while something is selected. */
function LegendBox() {
  const lit = highlight.value;
  if (lit?.selected == null) return null;
  const hasConditions = scene.value?.hierarchy.edges.at(-1)?.kind === "condition";
  return (
    <div class="float legend graph-legend" role="group" aria-label="Selection">
      {[
        ["selected", "selected tensor"],
        ["up", formatNumberOf(lit.up.size, "ancestor")],
        ["down", formatNumberOf(lit.down.size, "descendant")],
        ...(hasConditions ? [["condition", "decided what ran"]] : []),
      ].map(([look, words]) => (
        <span key={look}>
          <i class={`graph-stroke ${look}`} />
          {words}
        </span>
      ))}
    </div>
  );
}

/** Says that a layout is being made, how far it is, or that it failed. */
function LayoutBar() {
  const [wait, failure] = [layoutWait.value, layoutFailure.value];
  if (failure !== null) {
    return (
      <div class="float graph-wait" role="alert">
        <b>This view could not be laid out.</b>
        <span class="muted">{failure} Close a module and go on.</span>
      </div>
    );
  }
  if (wait === null) return null;
  return (
    <div class="float graph-wait" role="status">
      <span>Laying out {formatCount(wait.numOps)} boxes</span>
      <ShareBar label="Layout" now={Math.round((100 * wait.numPlaced) / Math.max(1, wait.numOps))} most={100} />
    </div>
  );
}

// --- Draw the part of a picture that is on screen: what is alike goes into one path, what cannot be read is
//   left out.

const fitter = new TextFitter();

function paint(context: CanvasRenderingContext2D): void {
  const [state, view, pixelRatio] = [picture.peek(), viewSize.peek(), devicePixelRatio];
  const { background, font } = palette.peek();
  const { canvas } = context;
  const [width, height] = [Math.round(view.width * pixelRatio), Math.round(view.height * pixelRatio)];
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.fillStyle = background;
  context.fillRect(0, 0, width, height);
  if (state === null) return;
  const { camera } = state;
  const zoom = camera.scale * pixelRatio;
  context.setTransform(zoom, 0, 0, zoom, -camera.x * zoom, -camera.y * zoom);
  fitter.use(context, font);
  const painting = { context, state, fitter };
  const visible = state.scene.within(shownPart(camera, view), camera.scale);
  const isFar = camera.scale < LEGIBLE.titles;
  if (camera.scale >= LEGIBLE.dots) paintDots(painting);
  paintFrames(painting, visible.frames);
  paintWires(painting, visible.wires);
  if (!isFar) paintHeaders(painting, visible.frames);
  if (isFar) paintFarChips(painting, visible);
  else paintChips(painting, visible);
  paintBoxes(painting, visible.boxes);
  if (isFar) paintLandmarks(painting, visible.frames);
  paintOutlines(painting);
}

function paintDots({ context, state: { camera, view, palette } }: Painting): void {
  const pitch = 24;
  const part = shownPart(camera, view);
  context.fillStyle = palette.line;
  context.beginPath();
  for (let x = Math.floor(part.x / pitch) * pitch; x < part.x + part.width; x += pitch) {
    for (let y = Math.floor(part.y / pitch) * pitch; y < part.y + part.height; y += pitch) context.rect(x, y, 1.5, 1.5);
  }
  context.fill();
}

const DELAY_MS = 400;

/** After a moment, the whole name of what is under the pointer, and its tensor. */
function HoverTip() {
  // The tree and the inspector light boxes up as well: that needs no words here.
  const key = isPointerOver.value ? store.hovered.value : null;
  const [shown, setShown] = useState<string | null>(null);
  useEffect(() => {
    setShown(null);
    if (key === null) return undefined;
    const timer = setTimeout(() => setShown(key), DELAY_MS);
    return () => clearTimeout(timer);
  }, [key]);
  const node = shown === null || shown !== key ? undefined : store.hierarchy.value?.nodes.get(shown);
  const box = node === undefined ? undefined : scene.value?.boxes.get(node.host ?? node.key);
  if (node === undefined || box === undefined) return null;
  const at = toScreen(camera.value, box.x, box.y + (box.isOpen ? SIZES.header : box.height));
  const { width, height } = viewSize.value;
  const left = Math.max(8, Math.min(at.x, width - 268));
  const isBelow = at.y + 76 < height;
  const top = isBelow ? Math.max(8, at.y + 6) : toScreen(camera.value, box.x, box.y).y - 70;
  return (
    <div class="graph-tip" role="tooltip" style={{ left: `${left}px`, top: `${top}px` }}>
      <b class="clip">{fullName(node)}</b>
      {details(node).map((line) => (
        <span key={line} class="clip">
          {line}
        </span>
      ))}
    </div>
  );
}

function fullName(node: GraphNode): string {
  const pass = store.document.value;
  const scope = pass?.scopes[node.scopes.at(-1) ?? -1];
  const [op] = node.ops;
  if (scope?.address != null && scope.address !== "") return scope.address;
  return op === undefined ? node.title : (pass?.ops[op]?.label ?? node.title);
}

function details(node: GraphNode): string[] {
  const [op] = node.ops;
  const entry = op === undefined ? undefined : store.document.value?.ops[op];
  const count = node.kind === "group" ? [formatNumberOf(node.numOps, "op")] : [];
  const first = [node.subtitle, ...count, node.times, ...node.marks].filter((part) => part !== "").join(" · ");
  if (entry === undefined) return [first, formatSeconds(node.seconds)];
  const last = store.document.value?.ops[node.ops.at(-1)!];
  const shape = shapeRange(formatShape(entry.shape), formatShape(last?.shape ?? entry.shape));
  return [first, `${shape} ${entry.dtype} · ${formatBytes(entry.num_bytes)} · ${formatSeconds(node.seconds)}`];
}

// --- Draw the chips beside boxes, and those that stand for far sources and readers.

const ROUND = 9;

/** Chips of one picture: dashed for parameters, accented where selected. */
class Batch {
  readonly arms = new Path2D();
  readonly dashed = new Path2D();
  readonly solid = new Path2D();
  readonly selected = new Path2D();
  readonly words: { readonly text: string; readonly place: Rect }[] = [];

  add(path: Path2D, place: Rect, text: string): void {
    path.roundRect(place.x, place.y, place.width, place.height, ROUND);
    this.words.push({ text, place });
  }
}

/** Parameters, buffers and outside tensors at the left of their op, and what stands instead of long edges. */
function paintChips({ context, state, fitter }: Painting, visible: Visible): void {
  const { palette } = state;
  const batch = new Batch();
  addChipsOfBoxes(batch, state, visible);
  addFarEnds(batch, state, visible);
  context.lineWidth = 1;
  context.strokeStyle = palette.line2;
  context.stroke(batch.arms);
  context.fillStyle = palette.background;
  for (const path of [batch.dashed, batch.solid, batch.selected]) context.fill(path);
  context.stroke(batch.solid);
  context.setLineDash([3, 2]);
  context.stroke(batch.dashed);
  context.setLineDash([]);
  context.strokeStyle = palette.accent;
  context.lineWidth = 2;
  context.stroke(batch.selected);
  for (const { text, place } of batch.words) {
    const [x, y] = [place.x + place.width / 2, place.y + place.height / 2 + 0.5];
    fitter.draw(context, text, x, y, place.width - 10, palette.text3, "center");
  }
}

function addChipsOfBoxes(batch: Batch, state: PaintState, visible: Visible): void {
  for (const box of visible.boxes) {
    const node = state.hierarchy.nodes.get(box.key)!;
    if (node.chips.length === 0) continue;
    for (const { chip, ...place } of chipPlaces(box, shownChips(node, state.showBuffers))) {
      const middle = place.y + place.height / 2;
      batch.arms.moveTo(place.x + place.width, middle);
      batch.arms.lineTo(box.x, Math.max(box.y + 6, Math.min(box.y + box.height - 6, middle)));
      const isSelected = chip.key !== null && chip.key === state.highlight.selected;
      batch.add(isSelected ? batch.selected : chip.kind === "param" ? batch.dashed : batch.solid, place, chip.text);
    }
  }
}

function addFarEnds(batch: Batch, { highlight, hierarchy }: PaintState, visible: Visible): void {
  const nameOf = ({ keys }: PlacedChip): string =>
    keys.length > 1 ? `${keys.length} tensors` : (hierarchy.nodes.get(keys[0]!)?.label ?? "");
  for (const { chip, x, y } of visible.chips) {
    const isSelected = highlight.selected !== null && chip.keys.includes(highlight.selected);
    const place = { x: x + chip.x, y: y + chip.y, width: chip.width, height: chip.height };
    const arrow = chip.names === "sources" ? "↥" : "↧";
    batch.add(isSelected ? batch.selected : batch.solid, place, `${arrow} ${nameOf(chip)}`);
  }
}

/** Where they cannot be read, chips are no more than the ends of their lines. */
function paintFarChips({ context, state }: Painting, visible: Visible): void {
  const path = new Path2D();
  for (const { chip, x, y } of visible.chips) path.rect(x + chip.x, y + chip.y, chip.width, chip.height);
  context.fillStyle = state.palette.line2;
  context.fill(path);
}
