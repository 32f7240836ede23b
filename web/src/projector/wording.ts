/** Which points are named in the drawing: those that matter, the kinds at their middles, all when few are in view. */
import type { Wording } from "./cloud";
import type { Label } from "./labelling";
import * as store from "./store";

const MOST_STRONG = 40;
const MOST_KINDS = 40;

/** From the state as it is; made anew when that changes. */
export function wordingOf(): Wording {
  const [point, hover] = [store.focus.value, store.hovered.value];
  const neighbours = store.neighbours.value.map((one) => one.point);
  const chosen = store.selected.value;
  const isShown = new Set(store.shown.value);
  const first = [hover, point].filter((one): one is number => one !== null && isShown.has(one));
  const rest = [...neighbours, ...(chosen.length <= MOST_STRONG ? chosen : [])].filter((one) => isShown.has(one));
  const kinds = kindMiddles();
  const hasColumn = store.labelColumn.value !== null;
  const nameAt = (screen: Float32Array, one: number, weight: Label["weight"]): Label => ({
    text: store.labelOf(one),
    x: screen[one * 3] ?? NaN,
    y: screen[one * 3 + 1] ?? NaN,
    weight,
  });
  return {
    strong: (screen) =>
      [
        ...first.map((one) => nameAt(screen, one, "strong")),
        ...(hasColumn ? rest : []).slice(0, MOST_STRONG).map((one) => nameAt(screen, one, "plain")),
        ...(point === null && chosen.length === 0 ? kinds(screen) : []),
      ].filter(({ x }) => Number.isFinite(x)),
    near: (screen, inView) => (hasColumn ? Array.from(inView, (one) => nameAt(screen, one, "plain")) : []),
    axisNames: axisNames(),
  };
}

/** `PC 1`: only the axes of PCA mean something. */
function axisNames(): string[] {
  return store.coordinates.value?.method === "pca" ? store.axes.value.map((axis) => `PC ${axis + 1}`) : [];
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
