/** An embedding as it came: its points, the columns of their labels, the sheet of their pictures. */
import type { EmbeddingHead } from "../wire";

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

/** Null where there are no pictures. */
function spritesOf(head: EmbeddingHead, buffer: ArrayBuffer, at: number): SpriteSheet | null {
  const { sprite_bytes: size, sprite_width: width, sprite_height: height, sprites_per_row: perRow } = head;
  if (size === 0 || width < 1 || height < 1 || perRow < 1) return null;
  return { bytes: new Uint8Array(buffer, at, size), width, height, perRow };
}

function placed(matrix: Float32Array, numPoints: number, numDims: number): Uint8Array {
  const has = new Uint8Array(numPoints).fill(1);
  for (let point = 0; point < numPoints; point++) {
    const start = point * numDims;
    for (let at = start; at < start + numDims; at++) {
      if (Number.isFinite(matrix[at])) continue;
      has[point] = 0;
      break;
    }
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
