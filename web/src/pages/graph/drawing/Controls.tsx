/** What floats over the drawing to choose from: zoom and depth, what boxes are coloured by, and the map of the whole. */
import { batch } from "@preact/signals";
import type { TargetedPointerEvent } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { formatCount } from "../../../data/format";
import { counterparts } from "../../../data/pass/edges";
import * as store from "../../../data/store";
import { Select } from "../../../ui/Select";
import { FitButton, Ramp, ZoomButtons } from "../../../ui/controls";
import { centred, shownPart, type Size } from "../../../ui/pan-zoom";
import { figureText } from "./box-figures";
import { fit, jumpTo, zoomBy } from "./camera";
import { palette } from "./pen";
import { deepest, type Scene } from "./scene";
import {
  camera, fixedLimit, highlight, measure, numHidden, paintOnChange, scale, scene, shownMetric, types, viewSize,
} from "./view-state";

export function ZoomBar() {
  return (
    <div class="float graph-bar" role="toolbar" aria-label="View">
      <ZoomButtons scale={camera.value.scale} zoomBy={zoomBy} />
      <span class="sep" />
      <FitButton fit={fit} />
      <span class="sep" />
      <DepthSelect />
      {numHidden.value > 0 && (
        <span class="graph-hidden muted" title="Ops inside closed modules">
          {formatCount(numHidden.value)} hidden
        </span>
      )}
      <Switches />
    </div>
  );
}

/** How many levels of modules are open; empty once they differ. */
function DepthSelect() {
  const tree = store.hierarchy.value;
  if (tree === null) return null;
  const levels = deepest(tree);
  if (levels < 2) return null;
  const choose = (event: Event): void => {
    const select = event.currentTarget as HTMLSelectElement;
    if (select.value !== "") store.openToDepth(Number(select.value));
    // The choice is an action, not a state: modules can be opened one by one as well.
    select.value = "";
  };
  return (
    <select class="input graph-depth" aria-label="Expand to depth" value="" onChange={choose}>
      <option value="" disabled hidden>
        Expand
      </option>
      {Array.from({ length: levels }, (_, depth) => (
        <option key={depth} value={depth}>
          {depth === 0 ? "Collapse all" : depth === levels - 1 ? "Expand all" : `Expand to depth ${depth}`}
        </option>
      ))}
    </select>
  );
}

/** What can be shown in two ways, each offered where the pass has something of it. */
function Switches() {
  const pass = store.document.value;
  if (pass === null) return null;
  const [isRolled, isBackward, showsBuffers] = [store.form.value === "rolled", store.flow.value === "backward", store.showBuffers.value];
  const all = [
    {
      name: "Rolled", hint: "One box for all passes of a layer", isOn: isRolled, flip: switchForm,
      isOffered: pass.ops.some((op) => op.num_passes > 1),
    },
    {
      name: "Backward", hint: "The way of the gradients", isOn: isBackward, isOffered: pass.num_backward_passes > 0,
      flip: () => (store.flow.value = isBackward ? "forward" : "backward"),
    },
    {
      name: "Buffers", hint: undefined, isOn: showsBuffers, isOffered: pass.ops.some((op) => op.kind === "buffer"),
      flip: () => (store.showBuffers.value = !showsBuffers),
    },
  ];
  return all.map(({ name, hint, isOn, isOffered, flip }) => isOffered && (
    <button key={name} class="btn quiet" aria-pressed={isOn} title={hint} onClick={() => flip()}>
      {name}
    </button>
  ));
}

// --- Switch between the rolled and the unrolled form and keep what is open. (The session keeps what is
//   selected.)

function switchForm(): void {
  const before = store.hierarchy.peek();
  batch(() => {
    store.form.value = store.form.peek() === "rolled" ? "unrolled" : "rolled";
    const after = store.hierarchy.value;
    if (before === null || after === null) return;
    const open = [...store.openGroups.peek()].flatMap((key) => counterparts(before, after, key));
    store.openGroups.value = new Set(open.filter((key) => after.nodes.get(key)?.kind === "group"));
  });
}

/** Choose what boxes are coloured by, and read or fix the scale. */
export function ColourBy() {
  const metric = shownMetric.value;
  const tree = store.hierarchy.value;
  useEffect(() => {
    if (metric === "zeros") void store.requestFigures("zeros");
  }, [metric, tree]);
  const choose = (one: string): void => {
    fixedLimit.value = null;
    store.metric.value = one as store.Metric;
  };
  const isOffered = (one: string): boolean => {
    if (one === "backward_time") return (store.document.value?.num_backward_passes ?? 0) > 0;
    return one !== "forward_time" || store.flow.value === "forward";
  };
  return (
    <div class="float graph-colour" role="group" aria-label="Colours">
      <label class="muted" for="graph-metric">
        Colour by
      </label>
      <Select
        id="graph-metric"
        look="input wide"
        value={metric}
        options={Object.entries(store.METRICS).filter(([one]) => isOffered(one))}
        set={choose}
      />
      {metric === "type" ? <TypeLegend /> : metric === "none" ? null : <Limits />}
    </div>
  );
}

function Limits() {
  const { limit, unit } = scale.value;
  if (measure.value === null) return <span class="muted">Not known for this pass</span>;
  const take = (event: Event): void => {
    const field = event.currentTarget as HTMLInputElement;
    const amount = Number(field.value.replace(",", ".").replace(/\s/g, ""));
    fixedLimit.value = field.value.trim() !== "" && amount > 0 ? amount * unit.size : null;
    field.value = figureText(scale.peek().limit, scale.peek().unit);
  };
  return (
    <>
      <Ramp map="seq" />
      <div class="ramp-ends">
        <span>0</span>
        <span class="clip">{unit.name}</span>
        <input
          class="graph-limit"
          aria-label={`Upper limit of the scale in ${unit.name}, empty for automatic`}
          title="Upper limit; empty for automatic"
          value={figureText(limit, unit)}
          onChange={take}
        />
      </div>
      {fixedLimit.value !== null && (
        <button class="link" onClick={() => (fixedLimit.value = null)}>
          Automatic limit
        </button>
      )}
    </>
  );
}

function TypeLegend() {
  const all = (types.value ?? []).map((type, index) => [type, `var(--cat-${index + 1})`] as const);
  return (
    <ul class="graph-types">
      {[...all, ["others", "var(--line-2)"] as const].map(([type, colour]) => (
        <li key={colour} class="clip">
          <i class="graph-swatch" style={{ background: colour }} />
          {type}
        </li>
      ))}
    </ul>
  );
}

const MOST: Size = { width: 112, height: 176 };

/** The whole picture, small, with the part that is on screen; drag in it to move. */
export function Minimap() {
  const canvasRef = useRef<HTMLCanvasElement>(null);
  const all = scene.value;
  const part = shownPart(camera.value, viewSize.value);
  const [right, bottom] = [part.x + part.width, part.y + part.height];
  const isShown = all !== null && (part.x > 0 || part.y > 0 || right < all.width || bottom < all.height);
  useEffect(() => {
    const context = canvasRef.current?.getContext("2d");
    return context == null ? undefined : paintOnChange([scene, highlight, palette], () => paintMap(context));
  }, [isShown]);
  if (!isShown) return null;
  const { scale, left, top } = placeOnMap(all);
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
          goThere(event);
        }}
        onPointerMove={goThere}
      />
      <i style={{ left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` }} />
    </div>
  );
}

function placeOnMap(all: Scene): { scale: number; left: number; top: number } {
  const scale = Math.min((MOST.width - 8) / all.width, (MOST.height - 8) / all.height);
  return { scale, left: (MOST.width - all.width * scale) / 2, top: (MOST.height - all.height * scale) / 2 };
}

/** Where somebody presses or drags, the middle of the view goes. */
function goThere({ buttons, clientX, clientY, currentTarget }: TargetedPointerEvent<HTMLCanvasElement>): void {
  const all = scene.peek();
  if (all === null || buttons === 0) return;
  const bounds = currentTarget.getBoundingClientRect();
  const { scale, left, top } = placeOnMap(all);
  const at = { x: (clientX - bounds.left - left) / scale, y: (clientY - bounds.top - top) / scale, width: 0, height: 0 };
  jumpTo(centred(at, viewSize.peek(), camera.peek().scale));
}

function paintMap(context: CanvasRenderingContext2D): void {
  const all = scene.peek();
  if (all === null) return;
  const [{ line2, text, text3 }, selected] = [palette.peek(), highlight.peek()?.selected ?? ""];
  const ratio = devicePixelRatio;
  [context.canvas.width, context.canvas.height] = [MOST.width * ratio, MOST.height * ratio];
  const { scale, left, top } = placeOnMap(all);
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
