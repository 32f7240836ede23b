/** How each plate is drawn: as much of its relief as can be seen, and as the card can keep up with. */
import { eyeOf, pixelsPerUnit, project, type Camera, type Size } from "./camera";
import type { Form } from "./painter";
import { inSpace, onPlate, placesOf, type Plate } from "./plates";
import { lengthOf, minus } from "./vectors";

/** Up to so many bars in view each is drawn; of more, each pixel looks for its bar. */
export const MOST_BARS = 20_000;
/** Of smaller cells a relief would be noise. */
const SMALLEST_CELL = 1.4;
const GAP = { share: 0.08, from: 3.5, full: 9 };

export interface Sight {
  readonly plate: Plate;
  readonly isInView: boolean;
  /** Pixels of the smaller side of a cell, where the plate is nearest. */
  readonly cellPixels: number;
}

export function sightOf(plate: Plate, camera: Camera, size: Size): Sight {
  const { columns, rows } = plate.cells;
  const eye = eyeOf(camera);
  const on = onPlate(plate, eye);
  const clamp = (at: number, most: number): number => Math.max(0, Math.min(most, at));
  const nearest = inSpace(plate, clamp(on[0], columns), clamp(on[1], rows), 0);
  const depth = camera.isFlat ? camera.distance : Math.max(1e-4, lengthOf(minus(nearest, eye)));
  const cell = Math.min(lengthOf(plate.across), lengthOf(plate.down));
  const cellPixels = (pixelsPerUnit(camera, size) * camera.distance * cell) / depth;
  return { plate, isInView: isInView(plate, camera, size), cellPixels };
}

function isInView(plate: Plate, camera: Camera, size: Size): boolean {
  const seen = placesOf(plate).map((corner) => project(camera, size, corner));
  // Partly behind the eye: it may still go through the view.
  if (seen.includes(null)) return true;
  const places = seen.filter((place) => place !== null);
  const [xs, ys] = [places.map(({ x }) => x), places.map(({ y }) => y)];
  return Math.max(...xs) >= 0 && Math.min(...xs) <= size.width && Math.max(...ys) >= 0 && Math.min(...ys) <= size.height;
}

/** Between bars there is a little room, where cells are large enough to see it. */
export function insetOf(cellPixels: number): number {
  return GAP.share * Math.max(0, Math.min(1, (cellPixels - GAP.from) / (GAP.full - GAP.from)));
}

/** `isRaised`: could its units rise? Quick: a card that cannot keep up while things move. */
export function formsOf(sights: readonly (Sight & { readonly isRaised: boolean })[], isQuick: boolean): readonly Form[] {
  const forms: Form[] = sights.map(() => "flat");
  if (isQuick) return forms;
  const raised = [...sights.entries()].filter(
    ([, sight]) => sight.isRaised && sight.isInView && sight.cellPixels >= SMALLEST_CELL,
  );
  const sizeOf = ({ plate }: Sight): number => plate.cells.columns * plate.cells.rows;
  raised.sort(([, a], [, b]) => sizeOf(a) - sizeOf(b));
  let total = 0;
  for (const [at, sight] of raised) {
    total += sizeOf(sight);
    forms[at] = total <= MOST_BARS ? "bars" : "field";
  }
  return forms;
}
