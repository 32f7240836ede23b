/** Places that somebody wants: beside, above or before another layer, a little to the side. */
import type { NetLayer } from "../wire";
import { BESIDE, fullDepth, fullWidth, riseOf, type Footprint } from "./footprints";
import { plus, type Vector } from "./vectors";

/** Add the middles of those that stand in relation to others, then all offsets. */
export function byHand(prints: readonly Footprint[], middles: Map<string, Vector>, isFlat: boolean): void {
  const byName = new Map(prints.map((print) => [print.layer.name, print]));
  const settle = (print: Footprint, above: ReadonlySet<string>): Vector => {
    const { name, place } = print.layer;
    const known = middles.get(name);
    if (known !== undefined) return known;
    const other = byName.get(place.other);
    // Two that stand each beside the other: one of them stands where it happens to.
    const from: Vector =
      other === undefined || above.has(place.other) ? [0, 0, 0] : settle(other, new Set([...above, name]));
    const middle = other === undefined ? from : plus(from, wayTo(print, other, place.relation, isFlat));
    const moved = plus(middle, offsetOf(print, isFlat));
    middles.set(name, moved);
    return moved;
  };
  // Offsets of those that stand by themselves first: what is beside them goes with them.
  for (const print of prints) {
    const middle = middles.get(print.layer.name);
    if (middle !== undefined) middles.set(print.layer.name, plus(middle, offsetOf(print, isFlat)));
  }
  for (const print of prints) settle(print, new Set([print.layer.name]));
}

function wayTo(
  print: Footprint,
  other: Footprint,
  relation: NetLayer["place"]["relation"],
  isFlat: boolean,
): Vector {
  const across = (fullWidth(print) + fullWidth(other)) / 2 + BESIDE;
  const rise = (below: Footprint, above: Footprint): number =>
    riseOf({ depth: fullDepth(below), height: below.height }, fullDepth(above), isFlat);
  const deep = (fullDepth(print) + fullDepth(other)) / 2 + BESIDE;
  const forward: Vector = isFlat ? [0, -rise(print, other), 0] : [0, 0, deep];
  switch (relation) {
    case "rightof":
      return [across, 0, 0];
    case "leftof":
      return [-across, 0, 0];
    case "above":
      return [0, rise(other, print), 0];
    case "below":
      return [0, -rise(print, other), 0];
    case "infront":
      return forward;
    case "behind":
      return [0, -forward[1], -forward[2]];
    default:
      return [0, 0, 0];
  }
}

/** In widths of the plate: right, up, to the front. Flat, what is in front is further down. */
function offsetOf(print: Footprint, isFlat: boolean): Vector {
  const [right = 0, up = 0, front = 0] = print.layer.place.offset;
  const width = fullWidth(print);
  return isFlat ? [right * width, (up - front) * width, 0] : [right * width, up * width, front * width];
}
