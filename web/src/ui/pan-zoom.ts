/** The view of a flat drawing: which point of the picture is at its top left, and how large a pixel is. */

export interface Size {
  readonly width: number;
  readonly height: number;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Rect extends Point, Size {}

export interface Camera extends Point {
  readonly scale: number;
}

function clampScale(scale: number): number {
  return Math.min(4, Math.max(0.02, scale));
}

/** A place on screen, as a place in the picture. */
export function toPicture(camera: Camera, x: number, y: number): Point {
  return { x: camera.x + x / camera.scale, y: camera.y + y / camera.scale };
}

export function toScreen(camera: Camera, x: number, y: number): Point {
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

interface Margin {
  readonly side: number;
  readonly top: number;
  readonly bottom: number;
}

/** A whole part of the picture within the margins, never larger than life. */
export function fitted(part: Rect, view: Size, { side, top, bottom }: Margin): Camera {
  const across = (view.width - 2 * side) / Math.max(1, part.width);
  const down = (view.height - top - bottom) / Math.max(1, part.height);
  const scale = clampScale(Math.min(1, across, down));
  const middle = centred(part, view, scale);
  return { ...middle, y: middle.y - (top - bottom) / 2 / scale };
}

export function centred(part: Rect, view: Size, scale: number): Camera {
  return {
    x: part.x + part.width / 2 - view.width / scale / 2,
    y: part.y + part.height / 2 - view.height / scale / 2,
    scale,
  };
}
