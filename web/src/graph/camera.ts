/** Where the view stands: which point of the picture is at its top left, and how large a pixel is. */
import type { Rect } from "./scene";

export interface Camera {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

export const SMALLEST_SCALE = 0.02;
export const LARGEST_SCALE = 4;

export function clampScale(scale: number): number {
  return Math.min(LARGEST_SCALE, Math.max(SMALLEST_SCALE, scale));
}

/** A place on screen, as a place in the picture. */
export function toPicture(camera: Camera, x: number, y: number): { x: number; y: number } {
  return { x: camera.x + x / camera.scale, y: camera.y + y / camera.scale };
}

export function toScreen(camera: Camera, x: number, y: number): { x: number; y: number } {
  return { x: (x - camera.x) * camera.scale, y: (y - camera.y) * camera.scale };
}

/** The part of the picture that is on screen. */
export function shownPart(camera: Camera, view: Size): Rect {
  return { x: camera.x, y: camera.y, width: view.width / camera.scale, height: view.height / camera.scale };
}

/** Zoom so that what is under the pointer stays there. */
export function zoomedAt(camera: Camera, x: number, y: number, factor: number): Camera {
  const scale = clampScale(camera.scale * factor);
  const at = toPicture(camera, x, y);
  return { x: at.x - x / scale, y: at.y - y / scale, scale };
}

/** Keep a corner of the picture in view: a drawing that was pushed away is hard to find again. */
export function kept(camera: Camera, picture: Rect, view: Size): Camera {
  const [left, top] = [Math.min(96, view.width / 2) / camera.scale, Math.min(96, view.height / 2) / camera.scale];
  const part = shownPart(camera, view);
  const x = Math.max(picture.x + left - part.width, Math.min(picture.x + picture.width - left, camera.x));
  const y = Math.max(picture.y + top - part.height, Math.min(picture.y + picture.height - top, camera.y));
  return { x, y, scale: camera.scale };
}

export function panned(camera: Camera, dx: number, dy: number): Camera {
  return { ...camera, x: camera.x - dx / camera.scale, y: camera.y - dy / camera.scale };
}

/** Free edges of the view: more at the top, where the controls float. */
const MARGIN = { side: 24, top: 56, bottom: 20 } as const;

/** Show a whole part of the picture, never larger than life. */
export function fitted(part: Rect, view: Size): Camera {
  const room = view.height - MARGIN.top - MARGIN.bottom;
  const across = (view.width - 2 * MARGIN.side) / Math.max(1, part.width);
  const scale = clampScale(Math.min(1, across, room / Math.max(1, part.height)));
  const middle = centred(part, view, scale);
  return { ...middle, y: middle.y - (MARGIN.top - MARGIN.bottom) / 2 / scale };
}

export function centred(part: Rect, view: Size, scale: number): Camera {
  return {
    x: part.x + part.width / 2 - view.width / scale / 2,
    y: part.y + part.height / 2 - view.height / scale / 2,
    scale,
  };
}

/** At a smaller scale, small text strains the eye. */
const READABLE = 0.72;

/** At the start: all of it where that can be read, else its top at a size that can, with the first box in the middle. */
export function firstView(part: Rect, view: Size, first?: Rect): Camera {
  const whole = fitted(part, view);
  if (whole.scale >= READABLE) return whole;
  const across = (view.width - 2 * MARGIN.side) / Math.max(1, part.width);
  const scale = Math.min(1, Math.max(READABLE, across));
  const isWide = across < scale;
  return { ...centred(isWide && first !== undefined ? first : part, view, scale), y: part.y - MARGIN.top / scale };
}

/** Move as little as it takes to bring a box into view. */
export function revealed(camera: Camera, box: Rect, view: Size, margin = 64): Camera {
  const scale = camera.scale < 0.5 ? Math.max(0.75, Math.min(1, camera.scale)) : camera.scale;
  if (scale !== camera.scale) return centred(box, view, scale);
  const part = shownPart(camera, view);
  const x = shifted(part.x, part.width, box.x, box.width, margin / scale);
  const y = shifted(part.y, part.height, box.y, box.height, margin / scale);
  return { x, y, scale };
}

function shifted(start: number, length: number, boxStart: number, boxLength: number, margin: number): number {
  const room = length - 2 * margin;
  if (boxLength > room) return boxStart - margin;
  if (boxStart < start + margin) return boxStart - margin;
  if (boxStart + boxLength > start + length - margin) return boxStart + boxLength + margin - length;
  return start;
}

/** Keep the top left of a box where it is on screen although it has moved in the picture. */
export function anchored(camera: Camera, before: Rect, after: Rect): Camera {
  return { ...camera, x: camera.x + after.x - before.x, y: camera.y + after.y - before.y };
}

/** Between two cameras; `share` runs from 0 to 1. The middle of the view moves evenly, sizes by their ratio. */
export function between(from: Camera, to: Camera, view: Size, share: number): Camera {
  const scale = from.scale * (to.scale / from.scale) ** share;
  const middle = (camera: Camera): { x: number; y: number } => toPicture(camera, view.width / 2, view.height / 2);
  const [a, b] = [middle(from), middle(to)];
  const x = a.x + (b.x - a.x) * share;
  const y = a.y + (b.y - a.y) * share;
  return { x: x - view.width / 2 / scale, y: y - view.height / 2 / scale, scale };
}

/** Fast at first, then slower: the curve of all movements of the page. */
export function eased(share: number): number {
  return 1 - (1 - share) ** 3;
}
