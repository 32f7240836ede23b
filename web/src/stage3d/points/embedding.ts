/** An embedding as it came: its points, the columns of their labels, the sheet of their pictures. */
import { batch, effect } from "@preact/signals";
import { followRecordList } from "../../data/record-list";
import { askOf, ByteCache } from "../../data/requests";
import { param, setParams } from "../../data/route";
import { Refusal, type Source } from "../../data/source";
import * as page from "../../data/store";
import { followAsked } from "../../data/useAsked";
import type { EmbeddingHead, RecordListing } from "../../wire";
import * as store from "./store";

export interface Column {
  readonly name: string;
  /** One for each point. */
  readonly values: readonly string[];
}

/** Where the pictures of the points stand in their sheet. */
export interface SpriteSheet {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly width: number;
  readonly height: number;
  readonly perRow: number;
}

export type SpriteImage = SpriteSheet & { readonly image: ImageBitmap };

export interface Embedding {
  readonly numPoints: number;
  readonly numDims: number;
  /** Row by row. */
  readonly matrix: Float32Array;
  readonly columns: readonly Column[];
  readonly sprites: SpriteSheet | null;
  /** Points of which some number is NaN or infinite: they have no place. */
  readonly numBad: number;
  /** 1 for each point that has a place. */
  readonly hasPlace: Uint8Array;
  /** What is wrong with the labels, where something is. */
  readonly note: string;
}

/** Take the bytes of a record apart. Throws a sentence where they are not what the head says. */
export function readEmbedding(head: EmbeddingHead, buffer: ArrayBuffer, offset: number): Embedding {
  const { num_points: numPoints, num_dims: numDims } = head;
  const sizes = [head.matrix_bytes, head.label_bytes, head.sprite_bytes];
  const there = buffer.byteLength - offset;
  if (head.matrix_bytes !== 4 * numPoints * numDims || sizes.reduce((sum, size) => sum + size, 0) !== there) {
    throw new Error(
      `The record is damaged: ${numPoints} points of ${numDims} numbers do not make ${there} bytes.`,
    );
  }
  const matrix = new Float32Array(buffer, offset, numPoints * numDims);
  const labels = new Uint8Array(buffer, offset + head.matrix_bytes, head.label_bytes);
  const { columns, note } = readColumns(head, labels);
  const hasPlace = placed(matrix, numPoints, numDims);
  return {
    numPoints,
    numDims,
    matrix,
    columns,
    sprites: spritesOf(head, buffer, offset + head.matrix_bytes + head.label_bytes),
    hasPlace,
    numBad: hasPlace.reduce((count, has) => count + (has === 1 ? 0 : 1), 0),
    note,
  };
}

function spritesOf(head: EmbeddingHead, buffer: ArrayBuffer, at: number): SpriteSheet | null {
  const { sprite_bytes: size, sprite_width: width, sprite_height: height, sprites_per_row: perRow } = head;
  if (size === 0 || width < 1 || height < 1 || perRow < 1) return null;
  return { bytes: new Uint8Array(buffer, at, size), width, height, perRow };
}

function placed(matrix: Float32Array, numPoints: number, numDims: number): Uint8Array {
  const has = new Uint8Array(numPoints).fill(1);
  for (let at = 0; at < numPoints * numDims; at++) {
    if (!Number.isFinite(matrix[at])) has[Math.floor(at / numDims)] = 0;
  }
  return has;
}

function readColumns(head: EmbeddingHead, bytes: Uint8Array): { columns: Column[]; note: string } {
  if (bytes.length === 0) return { columns: [], note: "" };
  let lists: unknown;
  try {
    lists = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    lists = null;
  }
  if (!Array.isArray(lists)) return { columns: [], note: "The labels cannot be read; the points can." };
  const columns: Column[] = [];
  for (const [at, list] of (lists as unknown[]).entries()) {
    if (!Array.isArray(list) || list.length !== head.num_points) continue;
    const name = head.columns[at];
    columns.push({ name: name === undefined || name === "" ? `column ${at}` : name, values: list.map(asText) });
  }
  const numLost = lists.length - columns.length;
  return { columns, note: numLost === 0 ? "" : `${numLost} columns of labels do not fit the points.` };
}

function asText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === null || value === undefined ? "" : JSON.stringify(value);
}

// --- Decode the sheet of pictures, once it is sure that it is a picture of a size that can be drawn.

const LARGEST = 16_384;
const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

/** Throws a sentence where it is none. */
export async function decodeSprites(sheet: SpriteSheet, numPoints: number): Promise<SpriteImage> {
  const { width, height } = pngSize(sheet.bytes);
  const numRows = Math.ceil(numPoints / sheet.perRow);
  // What a file declares decides how much memory it takes, so it is looked at first.
  if (Math.max(width, height) > LARGEST) throw new Error(`The sheet of pictures is too large: ${width}×${height}.`);
  if (width < sheet.perRow * sheet.width || height < numRows * sheet.height)
    throw new Error(`The sheet of pictures (${width}×${height}) is too small for ${numPoints} pictures.`);
  const image = await createImageBitmap(new Blob([sheet.bytes], { type: "image/png" }));
  return { ...sheet, image };
}

export function pngSize(bytes: Uint8Array): { width: number; height: number } {
  if (bytes.length < 24 || PNG.some((byte, at) => bytes[at] !== byte))
    throw new Error("The sheet of pictures is no PNG file.");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { width: view.getUint32(16), height: view.getUint32(20) };
}

/** Embeddings that were looked at are kept, as long as they are not too large together. */
const MOST_KEPT_BYTES = 256e6;

const embeddings = new ByteCache<Embedding>(MOST_KEPT_BYTES);

export function startLoading(): () => void {
  const stops = [
    // The list of records, again whenever the series has more.
    followRecordList(
      () => (store.place.value === null ? null : { ...store.place.value, kind: "embedding" }),
      (list) => (store.list.value = list),
      (reason) => (store.failure.value = { what: "The list of records", reason }),
    ),
    followRecord(),
    takeSelection(),
  ];
  return () => stops.forEach((stop) => stop());
}

function followRecord(): () => void {
  let wanted = "";
  const ask = async (listing: RecordListing, runId: string): Promise<Embedding> => {
    const reply = await askOf({ type: "record", run_id: runId, record: listing.record }, "record");
    const { head } = reply.answer.entry;
    if (head.kind !== "embedding") throw new Refusal("This record is no embedding.");
    return readEmbedding(head, reply.buffer, reply.offset);
  };
  return followAsked<store.Loaded>(
    () => {
      const place = store.place.value;
      const listing = store.records.value[store.recordAt.value];
      if (place === null || listing?.head.kind !== "embedding") return null;
      const { record, step } = listing;
      const key = `${place.runId} ${record}`;
      if (key !== wanted) store.failure.value = null;
      wanted = key;
      const embedding = () => embeddings.fetched(key, () => ask(listing, place.runId), ({ matrix }) => matrix.byteLength);
      return { key, version: "", ask: async () => ({ place, record, step, embedding: await embedding() }) };
    },
    ({ value, key, problem }) => {
      if (problem !== "") store.failure.value = { what: "This embedding", reason: problem };
      else if (value !== null && key === wanted) showEmbedding(value);
    },
  );
}

export function showEmbedding(next: store.Loaded): void {
  const { place, embedding } = next;
  batch(() => {
    const before = store.loaded.peek();
    const isSame =
      before !== null &&
      store.keyOf(before.place) === store.keyOf(place) &&
      before.embedding.numPoints === embedding.numPoints;
    store.loaded.value = next;
    store.saved.value = store.recallSelections(store.keyOf(place));
    store.failure.value = null;
    store.hovered.value = null;
    // Points of another embedding are other points; those of another step are the same ones later.
    if (isSame) return;
    store.selected.value = [];
    store.isolated.value = null;
    store.isolatedNames.value = new Set();
  });
}

/** A selection that the address names is chosen when its embedding comes. */
function takeSelection(): () => void {
  let taken = "";
  return effect(() => {
    const here = store.loaded.value;
    const name = param("selection");
    if (here === null) return;
    const key = `${store.keyOf(here.place)} ${name}`;
    if (key === taken) return;
    taken = key;
    const points = store.saved.peek().get(name);
    const isMissing = name !== "" && points === undefined;
    store.selectionNote.value = isMissing ? `The selection “${name}” is not in the memory of this browser.` : "";
    if (points !== undefined) store.selected.value = points.filter((point) => point < here.embedding.numPoints);
  });
}

// --- Ask the server for the points in fewer dimensions: PCA as soon as they are here, t-SNE and UMAP once it is wanted.

const MOST_KEPT = 12;
/** Of PCA: so many can be chosen from. */
const MOST_AXES = 10;
const reduced = new Map<string, store.Coordinates>();
/** Of which record the axes stay while steps change. */
let held: { readonly place: string; readonly record: string; readonly numDims: number } | null = null;

/** In the address: the method whose result was seen here. The server keeps it, so it comes back after a reload. */
const SEEN = "made";

export function startReducing(source: Source): () => void {
  let stopLast = (): void => undefined;
  let isFirst = true;
  let wanted = "";
  const stop = effect(() => {
    const here = store.loaded.value;
    if (here === null) return;
    if (isFirst) {
      isFirst = false;
      const wasSeen = param(SEEN) === store.method.chosen && !reduced.has(keyOf(here, store.method.chosen));
      if (wasSeen) queueMicrotask(() => reduceThere(source));
    }
    const key = keyOf(here, "pca");
    const found = bestOf(here);
    if (found !== undefined) {
      store.coordinates.value = found;
      return;
    }
    if (key === wanted) return;
    wanted = key;
    stopLast();
    stopLast = follow(source, here, "pca", null);
  });
  return () => {
    stopLast();
    stop();
  };
}

/** What distinguishes one set of coordinates from another. */
function keyOf(here: store.Loaded, method: store.Method): string {
  const { dims, neighbourhood, metric, holdAxes } = store;
  const how = method === "pca" ? [holdAxes.value] : [dims.chosen, neighbourhood.value, metric.chosen];
  return [here.place.runId, here.record, method, ...how].join(" ");
}

/** By the method that is chosen, else by PCA. */
function bestOf(here: store.Loaded): store.Coordinates | undefined {
  return reduced.get(keyOf(here, store.method.chosen)) ?? reduced.get(keyOf(here, "pca"));
}

/** Are the coordinates that are shown the ones that are asked for? */
export function isReduced(): boolean {
  return store.coordinates.value?.method === store.method.chosen;
}

export function reduceThere(source = page.source.peek()): void {
  const here = store.loaded.peek();
  const method = store.method.chosen;
  if (source === null || here === null || method === "pca") return;
  const cancel = (): void => {
    stop();
    store.reducing.value = null;
  };
  const stop = follow(source, here, method, cancel);
}

function follow(source: Source, here: store.Loaded, method: store.Method, cancel: (() => void) | null): () => void {
  const what = store.titleOf(method);
  const key = keyOf(here, method);
  const [how, axesOf] = howOf(here, method);
  const fail = (reason: string): void => {
    store.reducing.value = { state: "failed", what, reason };
  };
  store.reducing.value = { state: "working", what, share: 0, cancel };
  const asked = { type: "reduce", run_id: here.place.runId, record: here.record, axes_of: axesOf, ...how } as const;
  const stop = source.follow(here.reduceAs?.(how) ?? asked, {
    hear: ({ answer, buffer, offset }) => {
      if (answer.type !== "reduction") return;
      if (!answer.is_done) {
        store.reducing.value = { state: "working", what, share: answer.progress, cancel };
        return;
      }
      stop();
      const { num_points: numPoints, num_dims: perPoint, shares } = answer;
      if (numPoints !== here.embedding.numPoints || buffer.byteLength - offset !== 4 * numPoints * perPoint) {
        fail("The answer does not fit the points.");
        return;
      }
      const values = new Float32Array(buffer, offset, numPoints * perPoint);
      // What PCA has to say of points without a place is said of the drawing.
      const note = axesOf !== "" ? "The axes are held: other steps are drawn on them, too." : method === "pca" ? "" : answer.note;
      const found = { record: here.record, method, values, perPoint, shares, note };
      reduced.set(key, found);
      for (const name of [...reduced.keys()].slice(0, -MOST_KEPT)) reduced.delete(name);
      if (method !== "pca") setParams({ [SEEN]: method });
      batch(() => {
        store.reducing.value = null;
        if (store.loaded.peek()?.record === here.record) store.coordinates.value = bestOf(here) ?? store.coordinates.peek();
      });
    },
    refuse: fail,
  });
  return stop;
}

/** PCA on as many axes as there are, of these points or of those whose axes are held. */
function howOf({ place, record, embedding, reduceAs }: store.Loaded, method: store.Method): [how: store.Reducing, axesOf: string] {
  const { dims, neighbourhood, metric } = store;
  if (method !== "pca") return [{ method, num_dims: Number(dims.chosen), neighbours: neighbourhood.peek(), metric: metric.chosen }, ""];
  const { numPoints, numDims } = embedding;
  const series = store.keyOf(place);
  const canHold = store.holdAxes.peek() && held?.place === series && held.numDims === numDims;
  const axesOf = canHold && reduceAs === undefined ? held!.record : "";
  if (!canHold) held = { place: series, record, numDims };
  const num_dims = Math.max(1, Math.min(MOST_AXES, numDims, numPoints));
  return [{ method, num_dims, neighbours: 1, metric: "euclidean" }, axesOf];
}
