/** The drawing of the points, and what floats over it; or the same points as a table. */
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatCount, formatNumberOf, formatShare } from "../../data/format";
import * as page from "../../data/store";
import { Blank, ShareBar } from "../../ui/Blank";
import { IconButton } from "../../ui/IconButton";
import { Segments } from "../../ui/controls";
import { handleViewKey, type Orbit, OrbitCanvas, OrbitNotes, useOrbit, usePageKeys } from "../Orbit";
import { turned, zoomedTo } from "../camera";
import { startCamera } from "./camera";
import { Cloud } from "./cloud";
import { PointsPanel } from "./PointsPanel";
import { PointsTable } from "./PointsTable";
import { PointPointing, type Shape } from "./picking";
import { isReduced, reduceThere } from "./reduction";
import { addToSelection, clearChoice, look, toggleSelected } from "./selection";
import * as store from "./store";
import "./projector.css";

/** `look` is a class of its own; what stands below comes as children. */
export function Projector({ look = "", children }: { look?: string; children?: ComponentChildren }) {
  return (
    <div class={`projector ${look}`}>
      <div class="projector-stage">{store.isTable.value ? <PointsTable /> : <Stage />}</div>
      <PointsPanel />
      {children}
    </div>
  );
}

function Stage() {
  const [spriteNote, setSpriteNote] = useState("");
  const orbit = useOrbit((canvas, overlay) => new Cloud(canvas, overlay), (made) => made.follow(setSpriteNote));
  const cloud = orbit.drawing;
  const [shape, setShape] = useState<Shape>("box");
  const [isTurning, setIsTurning] = useState(false);
  const latestShape = useRef(shape);
  latestShape.current = shape;
  const pointing = useMemo(() => new PointPointing(() => cloud.current, () => latestShape.current), []);
  usePageKeys(({ key }) => handlePageKey(cloud.current, key));
  useTurning(cloud, isTurning && store.dims.chosen === "3");
  return (
    <div class="cloud">
      <OrbitCanvas
        orbit={orbit}
        pointing={pointing}
        label={summary()}
        onKey={(made, { key }) => handleStageKey(made, key)}
      />
      <StageBar
        cloud={cloud}
        shape={shape}
        onShape={setShape}
        isTurning={isTurning}
        onTurning={setIsTurning}
      />
      <Notes orbit={orbit} spriteNote={spriteNote} />
      <ReductionNote />
      <p class="sr" role="status">
        {store.hovered.value !== null ? store.labelOf(store.hovered.value) : ""}
      </p>
      {store.loaded.value === null && <FirstLoading />}
    </div>
  );
}

function FirstLoading() {
  const now = store.loading.value;
  if (now.state === "failed")
    return (
      <div class="fill">
        <Blank icon="broken" title={`${now.what} cannot be shown`} isError>
          <span>{now.reason}</span>
          <span>Other embeddings and steps can be chosen.</span>
        </Blank>
      </div>
    );
  return (
    <div class="fill blank late" aria-busy="true">
      <div class="bar moving">
        <i />
      </div>
      <span>Loading the points</span>
    </div>
  );
}

/** What a reader has to know of what is drawn. */
function Notes({ orbit, spriteNote }: { orbit: Orbit<Cloud>; spriteNote: string }) {
  const embedding = store.loaded.value?.embedding;
  const failure = store.loading.value;
  const numBad = embedding?.numBad ?? 0;
  const notes = [
    orbit.canDraw ? "" : "The points can be shown as a table.",
    spriteNote,
    embedding?.note ?? "",
    numBad > 0 ? `${formatNumberOf(numBad, "point")} with NaN or infinity: not drawn.` : "",
    embedding !== undefined && failure.state === "failed" ? `${failure.what}: ${failure.reason}` : "",
  ];
  return (
    <div class="cloud-notes" role="status">
      <OrbitNotes orbit={orbit} />
      {notes.filter(Boolean).map((note) => (
        <p key={note}>{note}</p>
      ))}
    </div>
  );
}

function summary(): string {
  const here = store.loaded.value;
  if (here === null) return "No points yet";
  const found = store.coordinates.value;
  const share = (found?.shares ?? []).filter((_, axis) => store.axes.value.includes(axis));
  const how = found === null ? "" : store.titleOf(found.method);
  const variance =
    share.length > 0 ? `, ${formatShare(share.reduce((sum, one) => sum + one, 0), 1)} of the variance` : "";
  const points = formatNumberOf(store.shown.value.length, "point");
  const all = here.embedding.numPoints;
  const part = store.shown.value.length < all ? ` of ${formatCount(all)}` : "";
  const chosen = store.selected.value.length > 0 ? `, ${formatCount(store.selected.value.length)} selected` : "";
  return `${points}${part} of ${here.place.name}${here.step === null ? "" : ` at step ${here.step}`}, ${how} in ${store.dims.chosen} dimensions${variance}${chosen}. Arrow keys go from point to point.`;
}

function useTurning(cloud: RefObject<Cloud | null>, isOn: boolean): void {
  useEffect(() => {
    if (!isOn) return undefined;
    let frame = 0;
    let last = performance.now();
    const turn = (now: number): void => {
      const made = cloud.current;
      if (made !== null) made.look(turned(made.camera, Math.min(100, now - last) * 0.03, 0));
      last = now;
      frame = requestAnimationFrame(turn);
    };
    frame = requestAnimationFrame(turn);
    return () => cancelAnimationFrame(frame);
  }, [isOn]);
}

/** How far a reduction is, with a way to stop it, or why there is none. */
function ReductionNote() {
  const now = store.reducing.value;
  if (now.state === "working") {
    // Short work would only flicker.
    return (
      <div class="float reduction late" role="status">
        <span>
          {now.what} · {formatShare(Math.max(0, now.share), 1)}
        </span>
        <ShareBar label={now.what} now={Math.round(100 * now.share)} most={100} />
        {now.cancel !== null && (
          <button class="btn sm" onClick={now.cancel}>
            Cancel
          </button>
        )}
      </div>
    );
  }
  if (now.state === "failed") {
    return (
      <div class="float reduction failed" role="alert">
        <span>
          <b>No {now.what}.</b> {now.reason}
        </span>
        <button class="btn sm" onClick={() => (store.reducing.value = { state: "idle" })}>
          Close
        </button>
      </div>
    );
  }
  if (store.loaded.value === null || isReduced()) return null;
  const title = store.titleOf(store.method.chosen);
  return (
    <div class="float reduction">
      <span>PCA is shown until {title} was made.</span>
      <button
        class="btn sm primary"
        onClick={() => {
          if (page.source.value !== null) reduceThere(page.source.value);
        }}
      >
        Run {title}
      </button>
    </div>
  );
}

interface Props {
  cloud: RefObject<Cloud | null>;
  shape: Shape;
  onShape: (shape: Shape) => void;
  isTurning: boolean;
  onTurning: (isTurning: boolean) => void;
}

const SHAPES = [
  ["box", "M3 5V3h2M8 3h1M12 3h1v2M13 8v1M13 12v1h-1M9 13H8M5 13H3v-1M3 9V8"],
  ["lasso", "M8 3c3.300 0 5.500 1.500 5.500 3.500S11.300 10 8 10 2.500 8.500 2.500 6.500 4.700 3 8 3zM5 9.500c-1.500 1-1 2.500.5 2.500s1.500 1.500.5 2"],
] as const;

/** The tools over the drawing: dimensions, camera, how points are chosen. */
function StageBar({ cloud, shape, onShape, isTurning, onTurning }: Props) {
  const act = (action: (made: Cloud) => void) => (): void => {
    if (cloud.current !== null) action(cloud.current);
  };
  const look = "btn quiet square";
  return (
    <div class="float cloud-bar" role="toolbar" aria-label="View of the points">
      <Segments label="Dimensions" {...store.dims} />
      <span class="sep" />
      <IconButton look={look} icon="minus" label="Zoom out" title="Zoom out (−)" onClick={act((made) => zoomBy(made, 0.8))} />
      <IconButton look={look} icon="plus" label="Zoom in" title="Zoom in (+)" onClick={act((made) => zoomBy(made, 1.25))} />
      <IconButton look={look} icon="frame" label="Fit the points" title="Fit the points (0)" onClick={act(fit)} />
      {store.dims.chosen === "3" && (
        <Switch label="Turn slowly" path="M12.500 5.500A5 5 0 1 0 13 8M13 3v2.800h-2.800" isOn={isTurning} set={() => onTurning(!isTurning)} />
      )}
      <span class="sep" />
      {SHAPES.map(([one, path]) => (
        <Switch key={one} label={`Select with a ${one}`} hint={`Shift and drag: a ${one}`} path={path} isOn={shape === one} set={() => onShape(one)} />
      ))}
    </div>
  );
}

/** A button with a sign of its own that is on or off. */
function Switch({ label, hint = label, path, isOn, set }: { label: string; hint?: string; path: string; isOn: boolean; set: () => void }) {
  return (
    <button class="btn quiet square" aria-label={label} title={hint} aria-pressed={isOn} onClick={set}>
      <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
        <path d={path} />
      </svg>
    </button>
  );
}

// --- The keys of the drawing: from point to point, its neighbours, the camera.

const ARROWS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowRight: [1, 0],
  ArrowLeft: [-1, 0],
  ArrowDown: [0, 1],
  ArrowUp: [0, -1],
};

/** Keys that hold anywhere on the page. True where one was taken. */
function handlePageKey(cloud: Cloud | null, key: string): boolean {
  if (key === "2" || key === "3") store.dims.choose(key);
  else if (key === "Escape") return clearChoice();
  else if (cloud === null) return false;
  else return handleViewKey(key, { fit: () => fit(cloud), zoomBy: (factor) => zoomBy(cloud, factor) });
  return true;
}

/** Keys of the drawing itself, while it has the focus. */
function handleStageKey(cloud: Cloud, key: string): boolean {
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

function fit(cloud: Cloud): void {
  cloud.look(startCamera(store.dims.chosen === "2"));
}

function zoomBy(cloud: Cloud, factor: number): void {
  cloud.look(zoomedTo(cloud.camera, factor, cloud.camera.target));
}
