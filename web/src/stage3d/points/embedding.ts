/** An embedding as it came: its points, the columns of their labels, the sheet of their pictures. */
import { batch, effect } from "@preact/signals";
import { followRecordList } from "../../data/record-list";
import { param } from "../../data/route";
import { askOf, ByteCache, Desk } from "../../data/requests";
import { Refusal } from "../../data/source";
import type { EmbeddingHead } from "../../wire";
import type { SpriteImage } from "./gl-painter";
import { recallSelections } from "./selection";
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
    return { columns: [], note: "The labels cannot be read; the points can." };
  }
  if (!Array.isArray(lists)) return { columns: [], note: "The labels are no lists; the points can be read." };
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
  return { image, width: sheet.width, height: sheet.height, perRow: sheet.perRow };
}

export function pngSize(bytes: Uint8Array): { width: number; height: number } {
  if (bytes.length < 24 || PNG.some((byte, at) => bytes[at] !== byte))
    throw new Error("The sheet of pictures is no PNG file.");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { width: view.getUint32(16), height: view.getUint32(20) };
}

/** Embeddings that were looked at are kept, as long as they are not too large together. */
const MOST_KEPT_BYTES = 256e6;

const kept = new ByteCache<Embedding>(MOST_KEPT_BYTES);

export function startLoading(): () => void {
  const stops = [
    // The list of records, again whenever the series has more.
    followRecordList(
      () => (store.place.value === null ? null : { ...store.place.value, kind: "embedding" }),
      (list) => (store.list.value = list),
      (reason) => (store.loading.value = { state: "failed", what: "The list of records", reason }),
    ),
    followRecord(),
    takeSelection(),
  ];
  return () => stops.forEach((stop) => stop());
}

function followRecord(): () => void {
  const desk = new Desk<store.Loaded>(({ value, key, problem }) => {
    if (problem !== "") store.loading.value = { state: "failed", what: "This embedding", reason: problem };
    else if (value !== null && key === wanted) showEmbedding(value);
  });
  let wanted = "";
  const stop = effect(() => {
    const place = store.place.value;
    const listing = store.records.value[store.recordAt.value];
    if (place === null || listing?.head.kind !== "embedding") return;
    const { record, step } = listing;
    const key = `${place.runId} ${record}`;
    if (key === wanted) return;
    wanted = key;
    const known = kept.get(key);
    if (known !== undefined) {
      desk.want(null);
      showEmbedding({ place, record, step, embedding: known });
      return;
    }
    const ask = async (): Promise<store.Loaded> => {
      const reply = await askOf({ type: "record", run_id: place.runId, record }, "record");
      const { head } = reply.answer.entry;
      if (head.kind !== "embedding") throw new Refusal("This record is no embedding.");
      const embedding = readEmbedding(head, reply.buffer, reply.offset);
      kept.set(key, embedding, embedding.matrix.byteLength);
      return { place, record, step, embedding };
    };
    store.loading.value = { state: "working", what: "Loading the points", share: -1, cancel: null };
    desk.want({ key, version: "", ask });
  });
  return () => {
    stop();
    desk.close();
  };
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
    store.saved.value = recallSelections(store.keyOf(place));
    store.loading.value = { state: "idle" };
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
