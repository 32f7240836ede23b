/** The drawing of the points, and what floats over it; or the same points as a table. */
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { formatCount, formatNumberOf, formatShare, formatValue } from "../../data/format";
import { Blank, Busy, ShareBar } from "../../ui/Blank";
import { IconButton } from "../../ui/IconButton";
import { PanelHead } from "../../ui/PanelHead";
import { type Column, RowTable } from "../../ui/RowTable";
import { Segments } from "../../ui/controls";
import { handleViewKey, type Orbit, OrbitCanvas, OrbitNotes, useOrbit, usePageKeys } from "../Orbit";
import { turned } from "../camera";
import { PointsPanel } from "./PointsPanel";
import { Cloud } from "./cloud";
import { PointPointing } from "./picking";
import { isReduced, reduceThere } from "./embedding";
import { addToSelection, clearChoice, downloadPoints, look, toggleSelected } from "./store";
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
  const pointing = useMemo(() => new PointPointing(() => cloud.current), []);
  usePageKeys(({ key }) => handlePageKey(cloud.current, key));
  useTurning(cloud, store.isTurning.value && store.dims.chosen === "3");
  return (
    <div class="cloud">
      <OrbitCanvas orbit={orbit} pointing={pointing} label={summary()} onKey={(made, { key }) => handleStageKey(made, key)} />
      <StageBar cloud={cloud} />
      <Notes orbit={orbit} spriteNote={spriteNote} />
      <ReductionNote />
      <p class="sr" role="status">
        {store.hovered.value !== null && store.labelOf(store.hovered.value)}
      </p>
      {store.loaded.value === null && <FirstLoading />}
    </div>
  );
}

function FirstLoading() {
  const failure = store.failure.value;
  if (failure === null) return <Busy title="Loading the points" style="fill late" />;
  return (
    <div class="fill">
      <Blank icon="broken" title={`${failure.what} cannot be shown`} isError>
        <span>{failure.reason}</span>
        <span>Other embeddings and steps can be chosen.</span>
      </Blank>
    </div>
  );
}

function Notes({ orbit, spriteNote }: { orbit: Orbit<Cloud>; spriteNote: string }) {
  const embedding = store.loaded.value?.embedding;
  const failure = store.failure.value;
  const numBad = embedding?.numBad ?? 0;
  const notes = [
    orbit.canDraw ? "" : "The points can be shown as a table.",
    spriteNote,
    embedding?.note ?? "",
    numBad > 0 ? `${formatNumberOf(numBad, "point")} with NaN or infinity: not drawn.` : "",
    embedding !== undefined && failure !== null ? `${failure.what}: ${failure.reason}` : "",
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
  const [here, found] = [store.loaded.value, store.coordinates.value];
  if (here === null) return "No points yet";
  const shares = (found?.shares ?? []).filter((_, axis) => store.axes.value.includes(axis));
  const [numShown, numChosen, all] = [store.shown.value.length, store.selected.value.length, here.embedding.numPoints];
  return [
    `${formatNumberOf(numShown, "point")}${numShown < all ? ` of ${formatCount(all)}` : ""}`,
    ` of ${here.place.name}${here.step === null ? "" : ` at step ${here.step}`}`,
    `, ${found === null ? "" : store.titleOf(found.method)} in ${store.dims.chosen} dimensions`,
    shares.length > 0 ? `, ${formatShare(shares.reduce((sum, one) => sum + one, 0), 1)} of the variance` : "",
    numChosen > 0 ? `, ${formatCount(numChosen)} selected` : "",
    ". Arrow keys go from point to point.",
  ].join("");
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
  if (now?.state === "working") {
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
  if (now?.state === "failed") {
    return (
      <div class="float reduction failed" role="alert">
        <span>
          <b>No {now.what}.</b> {now.reason}
        </span>
        <button class="btn sm" onClick={() => (store.reducing.value = null)}>
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
      <button class="btn sm primary" onClick={() => reduceThere()}>
        Run {title}
      </button>
    </div>
  );
}

/** The tools over the drawing: dimensions, camera, how points are chosen. */
function StageBar({ cloud }: { cloud: RefObject<Cloud | null> }) {
  const act = (action: (made: Cloud) => void) => (): void => {
    if (cloud.current !== null) action(cloud.current);
  };
  const look = "btn quiet square";
  const { isTurning, shape } = store;
  return (
    <div class="float cloud-bar" role="toolbar" aria-label="View of the points">
      <Segments label="Dimensions" {...store.dims} />
      <span class="sep" />
      <IconButton look={look} icon="minus" label="Zoom out" title="Zoom out (−)" onClick={act((made) => made.zoomBy(0.8))} />
      <IconButton look={look} icon="plus" label="Zoom in" title="Zoom in (+)" onClick={act((made) => made.zoomBy(1.25))} />
      <IconButton look={look} icon="frame" label="Fit the points" title="Fit the points (0)" onClick={act((made) => made.fit())} />
      {store.dims.chosen === "3" && (
        <IconButton
          look={look}
          icon="turn"
          label="Turn slowly"
          title="Turn slowly"
          aria-pressed={isTurning.value}
          onClick={() => (isTurning.value = !isTurning.value)}
        />
      )}
      <span class="sep" />
      {(["box", "lasso"] as const).map((one) => (
        <IconButton
          key={one}
          look={look}
          icon={one}
          label={`Select with a ${one}`}
          title={`Shift and drag: a ${one}`}
          aria-pressed={shape.value === one}
          onClick={() => (shape.value = one)}
        />
      ))}
    </div>
  );
}

/** Keys that hold anywhere on the page. True where one was taken. */
function handlePageKey(cloud: Cloud | null, key: string): boolean {
  if (key === "2" || key === "3") store.dims.choose(key);
  else if (key === "Escape") return clearChoice();
  else if (cloud === null) return false;
  else return handleViewKey(key, cloud);
  return true;
}

/** Keys of the drawing itself, while it has the focus. */
function handleStageKey({ index, size }: Cloud, key: string): boolean {
  const at = store.hovered.peek() ?? store.focus.peek();
  const arrow = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[key];
  if (arrow !== undefined) {
    const next =
      at === null
        ? index.nearest(size.width / 2, size.height / 2, Math.max(size.width, size.height))
        : index.towards(at, arrow[0]!, arrow[1]!);
    if (next >= 0) store.hovered.value = next;
  } else if (key !== "Enter" && key !== " ") return false;
  else if (at === null) return true;
  else if (key === " ") toggleSelected(at);
  // Once for its neighbours, twice to choose them.
  else if (store.focus.peek() === at) addToSelection([at, ...store.neighbours.peek().map(({ point }) => point)]);
  else look(at);
  return true;
}

/** The points as a table: what the drawing shows, for those who would rather read it. */
function PointsTable() {
  const here = store.loaded.value;
  const shown = store.shown.value;
  const [active, setActive] = useState(0);
  if (here === null) return null;
  const found = store.coordinates.value;
  const axes = found?.record === here.record ? store.axes.value : [];
  const chosen = new Set(store.selected.value);
  const withPoint = (act: (point: number) => void) => (): void => {
    if (active < shown.length) act(shown[active]!);
  };
  const columns: Column<number>[] = [
    { title: "index", text: (point) => point },
    ...store.columns.value.map(({ name, values }) => ({ title: name, look: "text clip", text: (point: number) => values[point] })),
    ...axes.map((axis) => ({
      title: found?.method === "pca" ? `PC ${axis + 1}` : `axis ${axis + 1}`,
      text: (point: number) => formatValue(found!.values[point * found!.perPoint + axis] ?? NaN),
    })),
  ];
  return (
    <div class="points-table-box">
      <PanelHead title={`${formatCount(shown.length)} points`}>
        <button class="btn sm" onClick={() => downloadPoints([...shown])}>
          CSV
        </button>
      </PanelHead>
      <RowTable
        label="Points"
        look="points-table"
        role="grid"
        rows={shown}
        rowHeight={24}
        headHeight={28}
        columns={columns}
        rowProps={(point, row) => ({
          "aria-selected": chosen.has(point) || store.focus.value === point,
          class: row === active ? "active" : "",
          onClick: (event) => {
            setActive(row);
            if (event.shiftKey) toggleSelected(point);
            else look(point);
          },
        })}
        active={active}
        goTo={setActive}
        keys={{ Enter: withPoint(look), " ": withPoint(toggleSelected) }}
      />
    </div>
  );
}
