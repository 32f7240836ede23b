/** The drawing of the points, and what floats over it. */
import type { RefObject } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatCount, formatNumberOf, formatShare } from "../../data/format";
import { setParams } from "../../data/route";
import * as page from "../../data/store";
import { Blank } from "../../ui/Blank";
import { Icon } from "../../ui/Icon";
import { Segments } from "../../ui/controls";
import { handleViewKey, OrbitCanvas, OrbitNotes, usePageKeys } from "../Orbit";
import { turned, zoomedTo } from "../camera";
import { startCamera } from "./camera";
import type { Cloud } from "./cloud";
import { PointPointing, type Shape } from "./picking";
import { isReduced, reduceThere } from "./reduction";
import { addToSelection, clearChoice, look, toggleSelected } from "./selection";
import * as store from "./store";
import { useCloud } from "./useCloud";

export function Stage() {
  const orbit = useCloud();
  const cloud = orbit.drawing;
  const [shape, setShape] = useState<Shape>("box");
  const [isTurning, setIsTurning] = useState(false);
  const latestShape = useRef(shape);
  latestShape.current = shape;
  const pointing = useMemo(() => new PointPointing(() => cloud.current, () => latestShape.current), []);
  usePageKeys(({ key }) => handlePageKey(cloud.current, key));
  useTurning(cloud, isTurning && store.dims.value === 3);
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
      <Notes orbit={orbit} />
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
function Notes({ orbit }: { orbit: ReturnType<typeof useCloud> }) {
  const here = store.loaded.value;
  const notes: string[] = [];
  if (!orbit.canDraw) notes.push("The points can be shown as a table.");
  if (orbit.spriteNote !== "") notes.push(orbit.spriteNote);
  if (here !== null && here.embedding.note !== "") notes.push(here.embedding.note);
  if (here !== null && here.embedding.numBad > 0)
    notes.push(`${formatNumberOf(here.embedding.numBad, "point")} with NaN or infinity: not drawn.`);
  const failure = store.loading.value;
  if (here !== null && failure.state === "failed") notes.push(`${failure.what}: ${failure.reason}`);
  return (
    <div class="cloud-notes" role="status">
      <OrbitNotes orbit={orbit} />
      {notes.map((note) => (
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
  const how = store.METHODS.find(([name]) => name === found?.method)?.[1] ?? "";
  const variance =
    share.length > 0 ? `, ${formatShare(share.reduce((sum, one) => sum + one, 0), 1)} of the variance` : "";
  const points = formatNumberOf(store.shown.value.length, "point");
  const all = here.embedding.numPoints;
  const part = store.shown.value.length < all ? ` of ${formatCount(all)}` : "";
  const chosen = store.selected.value.length > 0 ? `, ${formatCount(store.selected.value.length)} selected` : "";
  return `${points}${part} of ${here.place.name}${here.step === null ? "" : ` at step ${here.step}`}, ${how} in ${store.dims.value} dimensions${variance}${chosen}. Arrow keys go from point to point.`;
}

/** Slowly around, while somebody wants it. */
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

// --- How far a reduction is, with a way to stop it, or why there is none.

function ReductionNote() {
  const now = store.reducing.value;
  if (now.state === "working") {
    // Short work would only flicker.
    return (
      <div class="float reduction late" role="status">
        <span>
          {now.what} · {formatShare(Math.max(0, now.share), 1)}
        </span>
        <div class="bar" role="progressbar" aria-label={now.what} aria-valuenow={Math.round(now.share * 100)}>
          <i style={{ width: `${Math.max(2, now.share * 100)}%` }} />
        </div>
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
  const title = store.METHODS.find(([name]) => name === store.method.value)?.[1] ?? "";
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

// --- The tools over the drawing: dimensions, camera, how points are chosen, the table.

interface Props {
  cloud: RefObject<Cloud | null>;
  shape: Shape;
  onShape: (shape: Shape) => void;
  isTurning: boolean;
  onTurning: (isTurning: boolean) => void;
}

function StageBar({ cloud, shape, onShape, isTurning, onTurning }: Props) {
  const act = (action: (made: Cloud) => void) => (): void => {
    if (cloud.current !== null) action(cloud.current);
  };
  return (
    <div class="float cloud-bar" role="toolbar" aria-label="View of the points">
      <DimsSwitch />
      <span class="sep" />
      <button class="btn quiet square" aria-label="Zoom out" title="Zoom out (−)" onClick={act((c) => zoomBy(c, 0.8))}>
        <Sign path="M3.5 8h9" />
      </button>
      <button class="btn quiet square" aria-label="Zoom in" title="Zoom in (+)" onClick={act((c) => zoomBy(c, 1.25))}>
        <Sign path="M3.5 8h9M8 3.5v9" />
      </button>
      <button class="btn quiet square" aria-label="Fit the points" title="Fit the points (0)" onClick={act(fit)}>
        <Icon name="frame" />
      </button>
      {store.dims.value === 3 && (
        <button
          class="btn quiet square"
          aria-label="Turn slowly"
          title="Turn slowly"
          aria-pressed={isTurning}
          onClick={() => onTurning(!isTurning)}
        >
          <Sign path="M12.500 5.500A5 5 0 1 0 13 8M13 3v2.800h-2.800" />
        </button>
      )}
      <span class="sep" />
      <button
        class="btn quiet square"
        aria-label="Select with a box"
        title="Shift and drag: a box"
        aria-pressed={shape === "box"}
        onClick={() => onShape("box")}
      >
        <Sign path="M3 5V3h2M8 3h1M12 3h1v2M13 8v1M13 12v1h-1M9 13H8M5 13H3v-1M3 9V8" />
      </button>
      <button
        class="btn quiet square"
        aria-label="Select with a lasso"
        title="Shift and drag: a lasso"
        aria-pressed={shape === "lasso"}
        onClick={() => onShape("lasso")}
      >
        <Sign path="M8 3c3.300 0 5.500 1.500 5.500 3.500S11.300 10 8 10 2.500 8.500 2.500 6.500 4.700 3 8 3zM5 9.500c-1.500 1-1 2.500.5 2.500s1.500 1.500.5 2" />
      </button>
    </div>
  );
}

const DIMS = [
  ["2", "2D", "2 dimensions (2)"],
  ["3", "3D", "3 dimensions (3)"],
] as const;

function DimsSwitch() {
  return (
    <Segments
      label="Dimensions"
      words={DIMS}
      chosen={store.dims.value === 2 ? "2" : "3"}
      choose={(dims) => setParams({ dims: dims === "3" ? null : dims })}
    />
  );
}

function Sign({ path }: { path: string }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={path} />
    </svg>
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
  if (key === "2" || key === "3") setParams({ dims: key === "3" ? null : "2" });
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
  cloud.look(startCamera(store.dims.peek() === 2));
}

function zoomBy(cloud: Cloud, factor: number): void {
  cloud.look(zoomedTo(cloud.camera, factor, cloud.camera.target));
}
