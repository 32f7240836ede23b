/** The outline of a unit on screen: of its cell where it lies flat, of the faces towards the eye where it rises. */
import { eyeOf, project, type Camera, type Size } from "./camera";
import type { Outline } from "./overlay";
import type { PaintedPlate } from "./painter";
import { unitHeight } from "./picturing";
import { cellOfUnit, inSpace, onPlate } from "./plates";
import type { PointedPlace } from "./store";

/** Null where it is behind the eye. */
export function outlineOf(painted: PaintedPlate, { unit, moment }: PointedPlace, camera: Camera, size: Size): Outline | null {
  const { plate, inset } = painted;
  const { column, row } = cellOfUnit(plate, unit, moment);
  const height = painted.isRaised ? unitHeight(painted.levels, painted.scaling, unit) : 0;
  const [left, right, back, front] = [column + inset, column + 1 - inset, row + inset, row + 1 - inset];
  const eye = onPlate(plate, eyeOf(camera));
  const side = eye[0] * 2 > left + right ? right : left;
  const face = eye[1] * 2 > back + front ? front : back;
  const top = [
    [left, back, height],
    [right, back, height],
    [right, front, height],
    [left, front, height],
  ] as const;
  const sides = [
    [
      [side, back, 0],
      [side, front, 0],
      [side, front, height],
      [side, back, height],
    ],
    [
      [left, face, 0],
      [right, face, 0],
      [right, face, height],
      [left, face, height],
    ],
  ] as const;
  const ways = (height > 0 ? [...sides, top] : [top]).map((way) =>
    way.map(([x, y, up]) => project(camera, size, inSpace(plate, x, y, up))),
  );
  return ways.every((way) => way.every((place) => place !== null)) ? ways : null;
}
