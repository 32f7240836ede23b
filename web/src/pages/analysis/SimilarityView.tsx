/** How alike the layers see the items: a matrix for each, on one scale. */
import { useMemo, useState } from "preact/hooks";
import { formatValue } from "../../data/format";
import { ColourScale } from "../../plot/ColourScale";
import { Matrix } from "../../plot/Matrix";
import { NumberTable } from "../../plot/NumberTable";
import { Legend } from "../../plot/labels";
import { type Range, rangeOf, type Scale } from "../../ui/colour-scale";
import type { NetSimilarityAnswer } from "../../wire";
import { Contrast, describe, goToItem, LayerFigures, ReadingLine } from "./Figure";
import { chosenScale, current, isTable, metric, type Metric, order } from "./choice";
import { type Analysed, itemName, items, labelled, singlesOf, useBoth } from "./items";

/** How alike each is to each: [row][row]. */
export interface Pairs {
  readonly values: Float32Array;
  readonly range: Range | null;
}

type Answered = Analysed<"net_similarity", Pairs>;

const SCALE_WORDS: Record<Metric, string> = {
  correlation: "Correlation of two items over units",
  cosine: "Cosine of two items over units",
  euclidean: "Distance of two items over units",
};

export function SimilarityView() {
  const kind = metric.value;
  const looks = useBoth("net_similarity", () => ({ metric: kind }), (reply) => {
    const { places, leaves } = reply.answer;
    return pairsOf(singlesOf(reply, places.length ** 2, 32 * Math.max(0, leaves.length - 1)), places.length);
  });
  const [other, setOther] = useState<number | null>(null);
  const found = looks.flatMap(({ value }) => (value === null ? [] : [value]));
  const range = rangeOf(found.flatMap(({ data }) => (data.range === null ? [] : [data.range.min, data.range.max])));
  const scale = chosenScale(kind, range, usualScale(kind, range));
  const all = items.value;
  return (
    <>
      <LayerFigures
        looks={looks}
        facts={({ head }) => (
          <Contrast
            of={head.contrast}
            none="Without labels there is no contrast."
            hint={`How much ${kind === "euclidean" ? "nearer" : "more alike"} items of one label are`}
          />
        )}
        draw={(value) => value !== null && <Picture value={value} scale={scale.scale} other={other} onPair={setOther} />}
      />
      <ReadingLine more={pairText(found, current.value, other)} />
      <div class="an-below">
        <div class="an-scale">
          <span class="muted fs-1">{SCALE_WORDS[kind]}</span>
          <ColourScale {...scale} />
        </div>
        {all !== null && <Legend of={all} />}
      </div>
    </>
  );
}

interface PictureProps {
  value: Answered;
  scale: Scale;
  /** The other item of the pair under the pointer: its column is marked. */
  other: number | null;
  onPair: (other: number | null) => void;
}

/** As many as can be read in a table. */
export const MOST_IN_TABLE = 48;

function Picture({ value: { head, data, items: all, layer }, scale, other, onPair }: PictureProps) {
  const sorting = order.value;
  const { places, values } = useMemo(() => sorted(head, data.values, sortedPlaces(head, sorting)), [head, data, sorting]);
  const count = places.length;
  if (isTable.value) {
    const shown = places.slice(0, MOST_IN_TABLE);
    return (
      <NumberTable
        label="Matrix of items"
        head={["Item", ...shown.map((place) => itemName(all, place))]}
        rows={shown.map((place, row) => [
          <button key={place} class="link" title="Show in the network" onClick={() => goToItem(all, place)}>
            {describe(all, place)}
          </button>,
          ...shown.map((_, column) => formatValue(values[row * count + column]!, 3)),
        ])}
        left={[count - shown.length, "items"]}
      />
    );
  }
  const row = current.value === null ? -1 : places.indexOf(current.value);
  return (
    <Matrix
      values={values}
      numRows={count}
      numColumns={count}
      of={labelled(all, places)}
      isSquare
      scale={scale}
      at={row < 0 ? null : { row, column: Math.max(0, other === null ? row : places.indexOf(other)) }}
      onAt={(cell) => {
        current.value = cell === null ? null : places[cell.row]!;
        onPair(cell === null ? null : places[cell.column]!);
      }}
      onChoose={(cell) => goToItem(all, places[cell.row]!)}
      summary={`How alike ${layer.name} sees ${count} items, by ${metric.value}${rangeText(data.range)}. Arrows move, Enter shows the item in the network.`}
    />
  );
}

function sortedPlaces({ places, by_label: byLabel, by_tree: byTree }: NetSimilarityAnswer, by: typeof order.value): readonly number[] {
  if (by !== "tree") return by === "item" ? places : byLabel;
  // What is in no tree stands at its end.
  const standing = new Set(byTree);
  return [...byTree, ...places.filter((place) => !standing.has(place))];
}

/** A matrix with its rows and columns in another order; items that it has not are left out. */
export function sorted({ places }: Pick<NetSimilarityAnswer, "places">, values: Float32Array, wanted: readonly number[]) {
  const rowOf = new Map(places.map((place, row) => [place, row]));
  const kept = wanted.filter((place) => rowOf.has(place));
  const rows = kept.map((place) => rowOf.get(place)!);
  const next = new Float32Array(rows.length ** 2);
  for (const [down, row] of rows.entries()) {
    for (const [across, column] of rows.entries()) next[down * rows.length + across] = values[row * places.length + column]!;
  }
  return { places: kept, values: next };
}

function pairText(found: readonly Answered[], place: number | null, other: number | null): string {
  const [first] = found;
  if (first === undefined || place === null || other === null) return "";
  const values = found.flatMap(({ head: { places }, data }) => {
    const [row, column] = [places.indexOf(place), places.indexOf(other)];
    if (row < 0 || column < 0) return [];
    const value = data.values[row * places.length + column]!;
    return [Number.isNaN(value) ? "not defined" : formatValue(value, 4)];
  });
  return `with ${itemName(first.items, other)}: ${values.join(" and ")}`;
}

// --- What holds for items of a network and samples of a set alike.

/** Their range is without the diagonal: there everything is like itself. */
export function pairsOf(values: Float32Array, count: number): Pairs {
  return { values, range: rangeOf(values.filter((_, at) => at % count < Math.floor(at / count))) };
}

/** In a sentence, for those who do not see it. */
export function rangeText(range: Range | null): string {
  return range === null ? "" : `, of pairs from ${formatValue(range.min, 3)} to ${formatValue(range.max, 3)}`;
}

/** Likeness has a middle, and reaches to that of an item with itself; distance begins at nought. */
export function usualScale(kind: Metric, range: Range | null): Scale {
  if (kind === "euclidean") return { map: "seq", low: 0, high: range === null || range.max <= 0 ? 1 : range.max };
  return { map: "div", low: -1, high: 1 };
}
