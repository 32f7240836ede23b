/** From where all is seen: the sides of the view that stay free, and the side from which one looks at first. */
import { fitted, startCamera, type Camera, type Margins, type Size } from "./camera";
import { namePixels } from "./footprints";
import { placesOf, type Plate } from "./plates";
import type { Vector } from "./vectors";

/** On the left stand names: as much as they want, up to a share of the view. */
const MARGINS: Margins = { left: 56, right: 40, top: 56, bottom: 28 };
const FLAT_MARGINS: Margins = { left: 24, right: 24, top: 72, bottom: 20 };
/** Where no tools stand over the drawing. */
const BARE_TOP = 16;
/** In a narrow window the tools at the top take two lines. In pixels, both. */
const NARROW = 720;
const SECOND_LINE = 36;
const MOST_NAMES = 0.2;

/** With all plates in view, from the same side; `isFresh`: from that of the start. `isBare`: without tools over it. */
export function wholeView(camera: Camera, plates: readonly Plate[], size: Size, isFresh: boolean, isBare = false): Camera {
  const { isFlat } = camera;
  const places = plates.flatMap(placesOf);
  const from = isFresh ? startCamera(isFlat, isWide(places)) : camera;
  const margins = isFlat ? FLAT_MARGINS : MARGINS;
  const top = isBare ? BARE_TOP : margins.top + (size.width < NARROW ? SECOND_LINE : 0);
  const names = Math.max(0, ...plates.map(({ layer }) => namePixels(layer)));
  const left = isFlat ? margins.left : Math.max(margins.left, Math.min(names, MOST_NAMES * size.width));
  return fitted(from, places, size, { ...margins, top, left });
}

function isWide(places: readonly Vector[]): boolean {
  const extent = (axis: 0 | 1): number => {
    const all = places.map((place) => place[axis]);
    return Math.max(...all) - Math.min(...all);
  };
  return extent(0) > extent(1);
}
