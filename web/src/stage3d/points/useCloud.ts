/** Tie the drawing to the page: it draws whatever the store says, from where the address says. */
import { effect } from "@preact/signals";
import { useState } from "preact/hooks";
import { setParams } from "../../data/route";
import * as page from "../../data/store";
import { type Orbit, useOrbit } from "../Orbit";
import { type Label, readCamera, writeCamera } from "./camera";
import { Cloud, type Wording } from "./cloud";
import { paintPoints } from "./colours";
import { decodeSprites } from "./embedding";
import * as store from "./store";

/** Outlines around more points than this would hide them: being fresh among faint ones tells them apart then. */
const MOST_MARKED = 60;

export function useCloud(): Orbit<Cloud> & { readonly spriteNote: string } {
  const [spriteNote, setSpriteNote] = useState("");
  const begin = (made: Cloud): (() => void)[] => {
    made.camera = readCamera(store.cameraText.peek(), store.dims.peek() === 2);
    made.onRest = (camera) => setParams({ cam: writeCamera(camera) || null });
    return followStore(made, setSpriteNote);
  };
  return { ...useOrbit((canvas, overlay) => new Cloud(canvas, overlay), begin), spriteNote };
}

function followStore(cloud: Cloud, onSpriteNote: (note: string) => void): (() => void)[] {
  return [
    effect(() => {
      const wanted = readCamera(store.cameraText.value, store.dims.value === 2);
      const isOther = wanted.isFlat !== cloud.camera.isFlat || writeCamera(wanted) !== writeCamera(cloud.camera);
      if (isOther) cloud.look(wanted);
    }),
    effect(() => {
      cloud.readTheme(page.themeTick.value);
      const here = store.loaded.value;
      if (here === null) return;
      cloud.setColours(paintPoints(store.colouring.value, cloud.inks, here.embedding.numPoints, highlighted()));
    }),
    effect(() => {
      const places = store.drawn.value;
      if (places !== null) cloud.setPlaces(places as Float32Array<ArrayBuffer>);
    }),
    effect(() => cloud.setShown(store.shown.value as Int32Array<ArrayBuffer>)),
    effect(() => cloud.setMarked(markedPoints())),
    effect(() => {
      cloud.wording = wordingOf();
      cloud.draw();
    }),
    effect(() => {
      cloud.spriteMode = store.spriteMode.value;
      cloud.draw();
    }),
    followSprites(cloud, onSpriteNote),
  ];
}

/** 1 for each point that is to stand out; null where none is more than others. */
function highlighted(): Uint8Array | null {
  const here = store.loaded.value;
  const [chosen, point] = [store.selected.value, store.focus.value];
  if (here === null || (chosen.length === 0 && point === null)) return null;
  const mask = new Uint8Array(here.embedding.numPoints);
  for (const one of chosen) mask[one] = 1;
  if (point !== null) mask[point] = 1;
  for (const { point: one } of store.neighbours.value) mask[one] = 1;
  return mask;
}

function markedPoints(): Int32Array {
  const isShown = new Set(store.shown.value);
  const chosen = store.selected.value;
  const points = chosen.length <= MOST_MARKED ? [...chosen] : [];
  points.push(...store.neighbours.value.map((one) => one.point));
  for (const one of [store.focus.value, store.hovered.value]) if (one !== null) points.push(one);
  return Int32Array.from(points.filter((one) => isShown.has(one)));
}

function followSprites(cloud: Cloud, onNote: (note: string) => void): () => void {
  let latest = 0;
  const stop = effect(() => {
    const embedding = store.loaded.value?.embedding;
    const turn = ++latest;
    onNote("");
    cloud.setSprites(null);
    if (embedding?.sprites === undefined || embedding.sprites === null) return;
    decodeSprites(embedding.sprites, embedding.numPoints).then(
      (sprites) => {
        if (turn === latest) onNote(cloud.setSprites(sprites));
      },
      (reason: unknown) => {
        if (turn === latest) onNote(reason instanceof Error ? reason.message : String(reason));
      },
    );
  });
  return () => {
    latest += 1;
    stop();
  };
}

// --- Which points are named in the drawing: those that matter, the kinds at their middles, all when few are
//   in view.

const MOST_STRONG = 40;
const MOST_KINDS = 40;

/** From the state as it is; made anew when that changes. */
function wordingOf(): Wording {
  const [point, hover] = [store.focus.value, store.hovered.value];
  const neighbours = store.neighbours.value.map((one) => one.point);
  const chosen = store.selected.value;
  const isShown = new Set(store.shown.value);
  const first = [hover, point].filter((one): one is number => one !== null && isShown.has(one));
  const rest = [...neighbours, ...(chosen.length <= MOST_STRONG ? chosen : [])].filter((one) => isShown.has(one));
  const kinds = kindMiddles();
  const hasColumn = store.labelColumn.value !== null;
  const nameAt = (screen: Float32Array, one: number, weight: Label["weight"]): Label => ({
    text: store.labelOf(one),
    x: screen[one * 3] ?? NaN,
    y: screen[one * 3 + 1] ?? NaN,
    weight,
  });
  return {
    strong: (screen) =>
      [
        ...first.map((one) => nameAt(screen, one, "strong")),
        ...(hasColumn ? rest : []).slice(0, MOST_STRONG).map((one) => nameAt(screen, one, "plain")),
        ...(point === null && chosen.length === 0 ? kinds(screen) : []),
      ].filter(({ x }) => Number.isFinite(x)),
    near: (screen, inView) => (hasColumn ? Array.from(inView, (one) => nameAt(screen, one, "plain")) : []),
    axisNames: axisNames(),
  };
}

/** `PC 1`: only the axes of PCA mean something. */
function axisNames(): string[] {
  return store.coordinates.value?.method === "pca" ? store.axes.value.map((axis) => `PC ${axis + 1}`) : [];
}

/** The name of each kind where half of its points are left and right of it, above and below. */
function kindMiddles(): (screen: Float32Array) => Label[] {
  const kinds = store.colouring.value;
  if (kinds.kind !== "categories" || kinds.names.length < 2 || kinds.names.length > MOST_KINDS) return () => [];
  const shown = store.shown.value;
  return (screen) => {
    const [xs, ys] = [kinds.names.map((): number[] => []), kinds.names.map((): number[] => [])];
    // Some hundred points of a kind tell its middle.
    const step = Math.max(1, Math.floor(shown.length / (200 * kinds.names.length)));
    for (let nth = 0; nth < shown.length; nth += step) {
      const one = shown[nth]!;
      const [x, y] = [screen[one * 3]!, screen[one * 3 + 1]!];
      if (!Number.isFinite(x)) continue;
      xs[kinds.of[one]!]!.push(x);
      ys[kinds.of[one]!]!.push(y);
    }
    return kinds.names.map((text, at) => ({ text, x: middle(xs[at]!), y: middle(ys[at]!), weight: "middle" }));
  };
}

function middle(values: number[]): number {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}
