/** The drawing: it shows whatever the store says, from where the address says; text and outlines stand above the points. */
import { effect } from "@preact/signals";
import { setParams } from "../../data/route";
import { messageOf } from "../../data/message-of";
import * as page from "../../data/store";
import { type Camera, type ScreenPlace, viewMatrix, zoomedTo } from "../camera";
import { OrbitDrawing } from "../orbit-drawing";
import { type Label, type PlacedLabel, placeLabels, projectAll, REACH, readCamera, startCamera, writeCamera, zoomOf } from "./camera";
import { paintPoints, readInks } from "./colours";
import { decodeSprites } from "./embedding";
import { GlPainter } from "./gl-painter";
import { ScreenIndex } from "./picking";
import * as store from "./store";

/** Labels of all points, when no more than these are in view. */
const FEW = 120;
const SPRITE = 26;
/** Outlines around more points than this would hide them: being fresh among faint ones tells them apart then. */
const MOST_MARKED = 60;

export class Cloud extends OrbitDrawing {
  outline: readonly ScreenPlace[] | null = null;
  readonly #painter: GlPainter;
  #inks = readInks();
  #words = wordsOf();
  #places = new Float32Array(0);
  #shown = new Int32Array(0);
  #screen = new Float32Array(0);
  #index: ScreenIndex | null = null;
  #hasSprites = false;
  readonly #pace = new Pace();

  constructor(canvas: HTMLCanvasElement, overlay: HTMLCanvasElement) {
    super(canvas, overlay, readCamera(store.cameraText.peek(), store.dims.chosen === "2"));
    this.#painter = new GlPainter(canvas);
    this.onRest = (camera) => setParams({ cam: writeCamera(camera) || null });
  }

  /** Draw what the store says from now on. `note` is told what is wrong with the pictures of the points. */
  follow(note: (text: string) => void): (() => void)[] {
    return [
      effect(() => {
        const wanted = readCamera(store.cameraText.value, store.dims.chosen === "2");
        const isOther = wanted.isFlat !== this.camera.isFlat || writeCamera(wanted) !== writeCamera(this.camera);
        if (isOther) this.look(wanted);
      }),
      effect(() => {
        // The colours of the theme are new with each tick.
        if (page.themeTick.value >= 0) this.#inks = readInks();
        const numPoints = store.loaded.value?.embedding.numPoints;
        if (numPoints !== undefined) this.#painter.fill("colours", paintPoints(store.colouring.value, this.#inks, numPoints, highlighted(numPoints)));
        this.draw();
      }),
      effect(() => {
        if (store.drawn.value === null) return;
        this.#places = store.drawn.value as Float32Array<ArrayBuffer>;
        this.#screen = new Float32Array(this.#places.length);
        this.#painter.fill("places", this.#places);
        this.#changed();
      }),
      effect(() => {
        this.#shown = store.shown.value as Int32Array<ArrayBuffer>;
        this.#painter.fill("shown", spread(this.#shown));
        this.#changed();
      }),
      effect(() => {
        this.#painter.fill("marked", markedPoints());
        this.#words = wordsOf();
        this.draw();
      }),
      store.spriteMode.subscribe(() => this.draw()),
      this.#followSprites(note),
    ];
  }

  #followSprites(note: (text: string) => void): () => void {
    let latest = 0;
    const stop = effect(() => {
      const embedding = store.loaded.value?.embedding;
      const turn = ++latest;
      const show = (sprites: Parameters<GlPainter["setSprites"]>[0]): void => {
        const fault = this.#painter.setSprites(sprites);
        this.#hasSprites = sprites !== null && fault === "";
        this.draw();
        note(fault);
      };
      show(null);
      if (embedding?.sprites == null) return;
      decodeSprites(embedding.sprites, embedding.numPoints).then(
        (sprites) => turn === latest && show(sprites),
        (reason: unknown) => turn === latest && note(messageOf(reason)),
      );
    });
    return () => {
      latest += 1;
      stop();
    };
  }

  protected override resized(): void {
    this.#index = null;
  }

  override look(camera: Camera): void {
    this.#index = null;
    super.look(camera);
  }

  fit(): void {
    this.look(startCamera(store.dims.chosen === "2"));
  }

  zoomBy(factor: number): void {
    this.look(zoomedTo(this.camera, factor, this.camera.target));
  }

  #changed(): void {
    this.#index = null;
    this.draw();
  }

  get index(): ScreenIndex {
    if (this.#index === null) {
      projectAll(this.#places, this.#matrix(), this.size, this.#screen);
      const shown = this.#screen.length === 0 ? new Int32Array(0) : this.#shown;
      this.#index = new ScreenIndex(this.#screen, shown, this.size.width, this.size.height);
    }
    return this.#index;
  }

  /** Fewer points are drawn larger. */
  get #pointSize(): number {
    const base = Math.max(2, Math.min(9, 14 - 2.3 * Math.log10(Math.max(10, this.#shown.length))));
    return base * Math.min(2.5, Math.max(0.7, zoomOf(this.camera) ** 0.25));
  }

  get #withSprites(): boolean {
    const mode = store.spriteMode.peek();
    if (!this.#hasSprites || mode === "off") return false;
    if (mode === "on") return true;
    // When they have room side by side.
    const { width, height } = this.size;
    return this.index.inView.length * SPRITE * SPRITE < 0.6 * width * height;
  }

  #matrix(): Float32Array {
    return viewMatrix(this.camera, this.size, REACH);
  }

  protected override paint(): void {
    const isResting = !this.isMoving;
    const withSprites = this.#withSprites;
    this.#painter.paint({
      matrix: this.#matrix(),
      ratio: this.ratio,
      pointSize: withSprites ? SPRITE : this.#pointSize,
      distance: this.camera.isFlat ? 0 : this.camera.distance,
      surface: this.#inks.surface,
      ink: this.#inks.text,
      withSprites,
      numDrawn: isResting ? this.#shown.length : this.#pace.affordable(this.#shown.length, performance.now()),
    });
    // Text needs to know where points are, which takes time where they are many: it waits until the camera rests.
    const isQuick = this.#places.length < 3 * 20_000;
    const hasWords = this.#places.length > 0 && (isResting || isQuick);
    this.#drawAbove(hasWords ? this.#labels() : [], withSprites ? SPRITE / 2 : this.#pointSize / 2 + 1);
  }

  #labels(): Label[] {
    const { inView } = this.index;
    const some = inView.length <= FEW ? this.#words.near(this.#screen, inView) : [];
    return [...this.#words.strong(this.#screen), ...some];
  }

  // --- Text and outlines above the points: labels with room around them, the axes, the box or line of a selection.

  /** `shift`: from the middle of a point to its edge. */
  #drawAbove(labels: readonly Label[], shift: number): void {
    const canvas = this.canvases[1];
    const context = canvas.getContext("2d");
    if (context === null) return;
    const { ratio, size } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, size.width, size.height);
    const family = getComputedStyle(canvas).fontFamily;
    context.lineJoin = "round";
    const widthOf = (text: string): number => {
      context.font = `500 11px ${family}`;
      return context.measureText(text).width;
    };
    for (const label of placeLabels(labels, widthOf, size)) {
      context.font = `${label.weight === "plain" ? 400 : 600} 11px ${family}`;
      this.#drawLabel(context, label, shift);
    }
    context.font = `400 11px ${family}`;
    this.#drawAxes(context);
    if (this.outline !== null) this.#drawOutline(context, this.outline);
  }

  #drawLabel(context: CanvasRenderingContext2D, label: PlacedLabel, shift: number): void {
    const side = label.weight === "middle" ? 0 : label.left < label.x ? -1 : 1;
    const left = label.left + side * Math.max(0, shift - 3);
    context.strokeStyle = rgb(this.#inks.surface);
    context.lineWidth = 3;
    context.strokeText(label.text, left, label.base);
    context.fillStyle = rgb(this.#inks.text);
    context.fillText(label.text, left, label.base);
  }

  /** Which way the axes go, in the corner: in three dimensions as they are turned. */
  #drawAxes(context: CanvasRenderingContext2D): void {
    const turn = viewMatrix({ ...this.camera, target: [0, 0, 0] }, { width: 2, height: 2 }, REACH);
    const [x, y] = [CORNER, this.size.height - CORNER];
    const longest = Math.hypot(turn[0]!, turn[4]!, turn[8]!) || 1;
    context.textAlign = "center";
    for (const [at, name] of this.#words.axisNames.entries()) {
      const [dx, dy] = [(turn[at * 4]! / longest) * ARM, (-turn[at * 4 + 1]! / longest) * ARM];
      context.strokeStyle = rgb(this.#inks.none);
      context.lineWidth = 1.5;
      context.stroke(new Path2D(`M${x} ${y}l${dx} ${dy}`));
      context.fillStyle = rgb(this.#inks.text);
      context.globalAlpha = 0.7;
      if (Math.hypot(dx, dy) > 6) context.fillText(name, x + dx * 1.4, y + dy * 1.4 + 4);
      context.globalAlpha = 1;
    }
    context.textAlign = "left";
  }

  #drawOutline(context: CanvasRenderingContext2D, outline: readonly ScreenPlace[]): void {
    const path = new Path2D(`M${outline.map(({ x, y }) => `${x} ${y}`).join("L")}Z`);
    context.fillStyle = rgb(this.#inks.text);
    context.globalAlpha = 0.08;
    context.fill(path);
    context.globalAlpha = 1;
    context.strokeStyle = rgb(this.#inks.text);
    context.setLineDash([4, 3]);
    context.lineWidth = 1.5;
    context.stroke(path);
    context.setLineDash([]);
  }

  override dispose(): void {
    super.dispose();
    this.#painter.dispose();
  }
}

const ARM = 30;
const CORNER = 46;

function rgb(parts: readonly number[]): string {
  return `rgb(${parts.join()})`;
}

// --- The same points in another order, in which any beginning is an even sample of all.

const GOLDEN = 0.618033988749895;

/** Labels often come sorted; drawn in that order, the last kind would lie on top of all others. */
export function spread(points: Int32Array): Int32Array<ArrayBuffer> {
  const count = points.length;
  let stride = Math.max(1, Math.round(count * GOLDEN));
  while (commonDivisor(stride, count) !== 1) stride += 1;
  const order = new Int32Array(count);
  for (let nth = 0, from = 0; nth < count; nth++) {
    order[nth] = points[from]!;
    from = (from + stride) % count;
  }
  return order;
}

function commonDivisor(left: number, right: number): number {
  return right === 0 ? left : commonDivisor(right, left % right);
}

const SLOW_MS = 45;
const QUICK_MS = 24;
/** Frames further apart than this were not one movement. */
const PAUSE_MS = 700;
const FEWEST = 8000;

/** How many points can be drawn while the camera moves, learned from how long frames take. */
export class Pace {
  #share = 1;
  #last = -Infinity;

  /** Called for each frame of a movement, with the time. */
  affordable(count: number, now: number): number {
    const took = now - this.#last;
    this.#last = now;
    if (took < PAUSE_MS) {
      if (took > SLOW_MS) this.#share *= Math.max(0.5, SLOW_MS / took);
      else if (took < QUICK_MS) this.#share = Math.min(1, this.#share * 1.15);
    }
    this.#share = Math.max(this.#share, Math.min(1, FEWEST / Math.max(1, count)));
    return Math.min(count, Math.max(FEWEST, Math.round(count * this.#share)));
  }
}

/** 1 for each point that is to stand out; null where none is more than others. */
function highlighted(numPoints: number): Uint8Array | null {
  const [chosen, point] = [store.selected.value, store.focus.value];
  if (chosen.length === 0 && point === null) return null;
  const mask = new Uint8Array(numPoints);
  for (const one of chosen) mask[one] = 1;
  if (point !== null) mask[point] = 1;
  for (const { point: one } of store.neighbours.value) mask[one] = 1;
  return mask;
}

function markedPoints(): Int32Array {
  const isShown = new Set(store.shown.value);
  const chosen = store.selected.value.length <= MOST_MARKED ? store.selected.value : [];
  const points = [...chosen, ...store.neighbours.value.map(({ point }) => point), store.focus.value, store.hovered.value];
  return Int32Array.from(points.filter((one) => one !== null && isShown.has(one)) as number[]);
}

const MOST_STRONG = 40;
const MOST_KINDS = 40;

/** From the state as it is; made anew when that changes. Where points are on screen is known for each frame. */
function wordsOf() {
  const [point, hover] = [store.focus.value, store.hovered.value];
  const chosen = store.selected.value;
  const isShown = new Set(store.shown.value);
  const first = [hover, point].filter((one): one is number => one !== null && isShown.has(one));
  const others = [...store.neighbours.value.map((one) => one.point), ...(chosen.length <= MOST_STRONG ? chosen : [])];
  const hasColumn = store.labelColumn.value !== null;
  const rest = hasColumn ? others.filter((one) => isShown.has(one)).slice(0, MOST_STRONG) : [];
  const kinds = kindMiddles();
  const nameAt = (screen: Float32Array, one: number, weight: Label["weight"]): Label => ({
    text: store.labelOf(one),
    x: screen[one * 3] ?? NaN,
    y: screen[one * 3 + 1] ?? NaN,
    weight,
  });
  return {
    /** Of points that matter, wherever they are. */
    strong: (screen: Float32Array): Label[] =>
      [
        ...first.map((one) => nameAt(screen, one, "strong")),
        ...rest.map((one) => nameAt(screen, one, "plain")),
        ...(point === null && chosen.length === 0 ? kinds(screen) : []),
      ].filter(({ x }) => Number.isFinite(x)),
    /** Of any points, when few are in view. */
    near: (screen: Float32Array, inView: Int32Array): Label[] =>
      hasColumn ? Array.from(inView, (one) => nameAt(screen, one, "plain")) : [],
    /** `PC 1`: only the axes of PCA mean something. */
    axisNames: store.coordinates.value?.method === "pca" ? store.axes.value.map((axis) => `PC ${axis + 1}`) : [],
  };
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
