/** How alike layers see items or samples, as matrices; and how alike layers are to one another. */
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { evenly } from "../../data/collections";
import { formatCount, formatValue } from "../../data/format";
import { rank } from "../../data/network/moments";
import { setParams } from "../../data/route";
import { type Replied, useReply } from "../../data/useAsked";
import { CellTable, hundredths, likenessCell } from "../../plot/CellTable";
import { ColourScale } from "../../plot/ColourScale";
import { type Cell, Matrix, type MatrixProps } from "../../plot/Matrix";
import { NumberTable } from "../../plot/NumberTable";
import { type Labelled, Legend } from "../../plot/labels";
import { Hint } from "../../ui/Blank";
import { type Range, rangeOf, type Scale } from "../../ui/colour-scale";
import { PanelHead } from "../../ui/PanelHead";
import { Segments } from "../../ui/controls";
import type { Contrast as LabelContrast, FeatureLayersAnswer, FeatureRows, NetSimilarityAnswer } from "../../wire";
import { Contrast, CountChoice, Figure, ItemView, Link, Reading, ScaleNote, TableCheck, WorkFigure } from "./Figure";
import { chosenScale, type Metric, METRICS, table } from "./choice";
import * as features from "./features";
import { basisText, sampleName, useFollowed } from "./features";
import * as network from "./network";
import { type Analysed, current, describe, goToItem, itemName, items, type Items, singlesOf, useBoth } from "./network";

/** How alike each is to each: [row][row]. */
interface Pairs {
  readonly values: Float32Array;
  /** Without the diagonal: there everything is like itself. */
  readonly range: Range | null;
}

export function pairsOf(values: Float32Array, count: number): Pairs {
  return { values, range: rangeOf(values.filter((_, at) => at % count < Math.floor(at / count))) };
}

/** Likeness has a middle, and reaches to that of an item with itself; distance begins at nought. */
export function usualScale(kind: Metric, range: Range | null): Scale {
  if (kind === "euclidean") return { map: "seq", low: 0, high: range === null || range.max <= 0 ? 1 : range.max };
  return { map: "div", low: -1, high: 1 };
}

/** Where no pair is unlike, all colours are for how alike they are: after a ReLU all lie near 1. */
export function openingScale(kind: Metric, range: Range | null): Scale {
  if (kind === "euclidean" || range === null || range.min < 0) return usualScale(kind, range);
  return { map: "seq", low: Math.min(0.9, Math.floor(range.min * 10) / 10), high: 1 };
}

const MOST_IN_TABLE = 48;
/** Fewer labels are named beside the picture. */
export const MOST_BESIDE = 20;

interface PairsProps extends Pick<MatrixProps, "of" | "scale" | "at" | "onAt"> {
  pairs: Pairs;
  /** Of the columns of a table, and of its rows. */
  names: readonly string[];
  nameOf: (row: number) => ComponentChildren;
  what: "item" | "sample";
  onChoose: (row: number) => void;
  /** For those who do not see it, but for the range. */
  summary: readonly [what: string, key: string];
}

function PairsPicture({ pairs: { values, range }, names, nameOf, what, onChoose, summary, ...rest }: PairsProps) {
  const count = names.length;
  if (table.isOn) {
    const shown = names.slice(0, MOST_IN_TABLE);
    return (
      <NumberTable
        label={`Matrix of ${what}s`}
        head={[what === "item" ? "Item" : "Sample", ...shown]}
        rows={shown.map((_, row) => [nameOf(row), ...shown.map((_name, column) => formatValue(values[row * count + column]!, 3))])}
        left={[count - shown.length, `${what}s`]}
      />
    );
  }
  const rangeText = range === null ? "" : `, of pairs from ${formatValue(range.min, 3)} to ${formatValue(range.max, 3)}`;
  return (
    <Matrix
      {...rest}
      values={values}
      numRows={count}
      numColumns={count}
      isSquare
      onChoose={({ row }) => onChoose(row)}
      summary={`How alike ${summary[0]}${rangeText}. Arrows move, Enter shows ${summary[1]}.`}
    />
  );
}

type Seen = Analysed<"net_similarity", Pairs>;

export function ItemSimilarity() {
  const kind = network.metric.chosen;
  const looks = useBoth("net_similarity", () => ({ metric: kind }), (reply) => {
    const { places, leaves } = reply.answer;
    return pairsOf(singlesOf(reply, places.length ** 2, 32 * Math.max(0, leaves.length - 1)), places.length);
  });
  const [other, setOther] = useState<number | null>(null);
  const found = looks.flatMap(({ value }) => (value === null ? [] : [value]));
  const range = rangeOf(found.flatMap(({ data }) => (data.range === null ? [] : [data.range.min, data.range.max])));
  const scale = chosenScale(kind, range, usualScale(kind, range));
  return (
    <ItemView
      looks={looks}
      facts={({ head }) => (
        <Contrast
          of={head.contrast}
          none="Without labels there is no contrast."
          hint={`How much ${kind === "euclidean" ? "nearer" : "more alike"} items of one label are`}
        />
      )}
      draw={(value) => <ItemPairs value={value} scale={scale.scale} other={other} onPair={setOther} />}
      more={pairText(found, current.value, other)}
    >
      <ScaleNote of={scale} said={`${METRICS.find(([name]) => name === kind)![1]} of two items over units`} />
    </ItemView>
  );
}

interface ItemPairsProps {
  value: Seen;
  scale: Scale;
  /** The other item of the pair under the pointer: its column is marked. */
  other: number | null;
  onPair: (other: number | null) => void;
}

function ItemPairs({ value: { head, data, items: all, layer }, scale, other, onPair }: ItemPairsProps) {
  const sorting = network.order.chosen;
  const { places, values } = useMemo(() => sorted(head, data.values, sortedPlaces(head, sorting)), [head, data, sorting]);
  const row = current.value === null ? -1 : places.indexOf(current.value);
  return (
    <PairsPicture
      of={labelled(all, places)}
      pairs={{ values, range: data.range }}
      names={places.map((place) => itemName(all, place))}
      nameOf={(at) => <ItemLink all={all} place={places[at]!} name={describe(all, places[at]!)} />}
      what="item"
      scale={scale}
      at={row < 0 ? null : { row, column: Math.max(0, other === null ? row : places.indexOf(other)) }}
      onAt={(cell) => {
        current.value = cell === null ? null : places[cell.row]!;
        onPair(cell === null ? null : places[cell.column]!);
      }}
      onChoose={(at) => goToItem(all, places[at]!)}
      summary={[`${layer.name} sees ${places.length} items, by ${network.metric.chosen}`, "the item in the network"]}
    />
  );
}

export function ItemLink({ all, place, name }: { all: Items; place: number; name: string }) {
  return (
    <button class="link" title="Show in the network" onClick={() => goToItem(all, place)}>
      {name}
    </button>
  );
}

/** What is said of some of the items, in rows of their own. */
function labelled({ labels, label_of: labelOf }: Items, places: readonly number[]): Labelled {
  return { labels, label_of: labels.length === 0 ? [] : places.map((place) => labelOf[place]!) };
}

function sortedPlaces({ places, by_label: byLabel, by_tree: byTree }: NetSimilarityAnswer, by: string): readonly number[] {
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

function pairText([first, second]: readonly Seen[], place: number | null, other: number | null): string {
  if (first === undefined || place === null || other === null) return "";
  const values = [first, second].flatMap((seen) => {
    const places = seen?.head.places ?? [];
    const [row, column] = [places.indexOf(place), places.indexOf(other)];
    if (seen === undefined || row < 0 || column < 0) return [];
    const value = seen.data.values[row * places.length + column]!;
    return [Number.isNaN(value) ? "not defined" : formatValue(value, 4)];
  });
  return `with ${itemName(first.items, other)}: ${values.join(" and ")}`;
}

interface Similar extends Pairs {
  readonly rows: FeatureRows;
  readonly contrast: LabelContrast | null;
  readonly note: string;
}

/** Samples of a set, as one layer sees them, beside its layers, each with every other. */
export function SampleSimilarity() {
  return (
    <>
      <div class="ft-controls">
        <Segments label="Metric" {...features.metric} />
        <CountChoice name="Samples" of={features.numSimilar} />
        <TableCheck />
      </div>
      <div class="ft-two">
        <Samples />
        <LayerMatrix />
      </div>
    </>
  );
}

function Samples() {
  const name = features.layer.value?.name ?? "";
  const asked = { layer: features.layerAt.value, metric: features.metric.chosen, most: features.numSimilar.chosen };
  const found = useFollowed("feature_similarity", asked.layer < 0 ? null : asked, (reply): Similar | null => {
    const { rows, contrast, note, is_done: isDone } = reply.answer;
    if (!isDone || rows === null) return null;
    const count = rows.samples.length;
    return { rows, contrast, note, ...pairsOf(singlesOf(reply, count ** 2), count) };
  });
  return (
    <WorkFigure
      label={`Samples in ${name}`}
      name={name}
      what="Comparing samples"
      of={found}
      facts={({ rows }) => `samples by samples · ${basisText(rows.samples.length, rows.num_done)}`}
      draw={(value) => <SamplePairs of={value} />}
    />
  );
}

function SamplePairs({ of }: { of: Similar }) {
  const { rows, contrast, values, range, note } = of;
  const [pointed, setPointed] = useState<Cell | null>(null);
  const kind = features.metric.chosen;
  const count = rows.samples.length;
  const scale = chosenScale(`features ${kind}`, range, openingScale(kind, range));
  // The picture may be of fewer samples than the one before.
  const at = pointed !== null && Math.max(pointed.row, pointed.column) < count ? pointed : null;
  const picture = (
    <PairsPicture
      of={rows}
      pairs={of}
      names={rows.ids}
      nameOf={(row) => sampleName(rows, row)}
      what="sample"
      scale={scale.scale}
      at={at}
      onAt={setPointed}
      onChoose={(row) => setParams({ see: "values", sample: String(rows.samples[row]) })}
      summary={[`${count} samples are, by ${kind}`, "the values of the sample"]}
    />
  );
  if (table.isOn) return picture;
  return (
    <>
      {picture}
      <Reading
        hint="Point at a pair to read it; click it to see the values of its sample."
        parts={at && [sampleName(rows, at.row), `and ${sampleName(rows, at.column)}`, formatValue(values[at.row * count + at.column]!, 3)]}
      />
      <footer class="ft-foot">
        <ScaleNote of={scale} />
        <Contrast of={contrast} none="Without classes there is no contrast." hint="How much more alike samples of one label are" />
        {note !== "" && <span class="muted fs-1">{note}</span>}
        {rows.labels.length > MOST_BESIDE && <Legend of={rows} />}
      </footer>
    </>
  );
}

/** Each with every other; of more layers, so many. */
const MOST_LAYERS = 64;
/** Names have room over columns of this many layers; those of more are told by their rows and by pointing. */
const MOST_HEADED = 32;

/** Of both sides of nought only where there are both. */
export function scaleOfLayers(values: Float32Array): Scale {
  return values.some((value) => value < 0) ? { map: "div", low: -1, high: 1 } : { map: "seq", low: 0, high: 1 };
}

interface Compared {
  readonly head: FeatureLayersAnswer;
  readonly values: Float32Array;
}

function LayerMatrix() {
  const numAll = features.layers.value.length;
  const layers = evenly(numAll, MOST_LAYERS);
  const method = features.comparison.chosen;
  const asked = { layers, method, metric: features.metric.chosen, most: features.numSimilar.chosen };
  const found = useFollowed("feature_layers", numAll < 2 ? null : asked, (reply): Compared | null =>
    reply.answer.is_done ? { head: reply.answer, values: singlesOf(reply, reply.answer.layers.length ** 2) } : null,
  );
  if (numAll < 2) {
    return (
      <Figure label="Layers compared" name="Layers compared" isBusy={false}>
        <p class="muted fs-2">With a second layer there would be something to compare.</p>
      </Figure>
    );
  }
  return (
    <WorkFigure
      label="Layers compared"
      name="Layers compared"
      what="Comparing layers"
      of={found}
      controls={<Segments label="Compared by" {...features.comparison} />}
      facts={(value) => `${basisText(value.head.num_samples, found.numThen)}${numAll > MOST_LAYERS ? ` · ${MOST_LAYERS} of ${formatCount(numAll)} layers` : ""}`}
      draw={(value) => <Cells of={value} method={method} />}
    />
  );
}

function Cells({ of: { head, values }, method }: { of: Compared; method: "rsa" | "cka" }) {
  const scale = chosenScale(`features ${method}`, null, scaleOfLayers(values));
  const names = head.layers.map((at) => features.layers.value[at]?.name ?? "");
  return (
    <>
      <div class="ft-cells">
        <CellTable
          label={`Layers compared by ${method.toUpperCase()}`}
          rows={names}
          isOn={(at) => head.layers[at] === features.layerAt.value}
          {...(names.length <= MOST_HEADED ? { head: "upright" } : {})}
          hasNumbers={names.length <= 12}
          cell={likenessCell(names, values, scale.scale)}
          onChoose={(row) => features.chooseLayer(head.layers[row]!)}
        />
      </div>
      <p class="an-reading muted">{method === "rsa" ? "1: both layers order all pairs of samples in the same way." : "1: both layers are alike, up to rotation and size."} Click a row to see its layer.</p>
      <footer class="ft-foot">
        <ScaleNote of={scale} />
        <LeftOut of={Object.entries(head.left_out)} />
        {head.note !== "" && <span class="muted fs-1">{head.note}</span>}
      </footer>
    </>
  );
}

/** Layers that are not among those that are compared, and why the first of them is not. */
function LeftOut({ of }: { of: readonly (readonly [layer: string, why: string])[] }) {
  if (of.length === 0) return null;
  return (
    <span class="muted fs-1" title={of.map(([layer, why]) => `${layer}: ${why}`).join("\n")}>
      {formatCount(of.length)} {of.length === 1 ? "layer is" : "layers are"} not compared: {of[0]![0]}: {of[0]![1]}
    </span>
  );
}

type Likeness = Replied<"net_likeness", { readonly values: Float32Array; readonly items: unknown }>;

/** Of a network, at the right of its items: with how much labels count in each of them. */
export function LikenessPanel() {
  const all = items.value;
  const names = network.layers.value.slice(-MOST_LAYERS).map(({ name }) => name);
  // After the main pictures: it takes longer than they do.
  const isWanted = all !== null && names.length > 1 && !network.isAwaited.value;
  const about = isWanted ? { run_id: all.runId, rank: rank.value, choice: all.choice, layers: names, metric: network.metric.chosen } : null;
  const { value, problem, retry } = useReply("net_likeness", about, (reply) => ({ values: singlesOf(reply, names.length ** 2), items: all }));
  if (names.length < 2) return null;
  return (
    <section class="an-likeness" aria-label="Layers compared" aria-busy={value?.data.items !== all && problem === ""}>
      <PanelHead title="Layers compared">
        <span class="muted fs-1">{network.layers.value.length > MOST_LAYERS && `the last ${MOST_LAYERS}`}</span>
      </PanelHead>
      <div class="pad">
        <Hint text={problem}>
          <Link act={retry}>Try again</Link>
        </Hint>
        {value === null && problem === "" && <i class="skeleton late" style={{ height: "160px" }} />}
        {value !== null && <Layers likeness={value} />}
      </div>
    </section>
  );
}

function Layers({ likeness: { head, data } }: { likeness: Likeness }) {
  const names = head.layers.map(({ layer }) => layer);
  const scale = chosenScale("likeness", null, usualScale("correlation", null));
  const hasLabels = head.layers.some(({ contrast }) => contrast !== null);
  const left = head.layers.filter(({ why }) => why !== "");
  return (
    <>
      <p class="muted fs-1">Rank correlation of how two layers order all pairs of items. Click a cell to see both.</p>
      <CellTable
        label="Rank correlation of layers"
        rows={names}
        titleOf={(row) => (head.layers[row]!.why === "" ? names[row]! : `${names[row]}: ${head.layers[row]!.why}`)}
        isOn={(at) => names[at] === network.first.value?.name || names[at] === network.second.value?.name}
        hasNumbers={names.length <= 5}
        cell={likenessCell(names, data.values, scale.scale)}
        onChoose={(row, column) => setParams({ one: names[row]!, two: row === column ? null : names[column]! })}
        after={(row) => hasLabels && <td class="contrast">{short(head.layers[row]!.contrast?.contrast ?? null)}</td>}
      />
      {hasLabels && <p class="muted fs-1 an-right">last column: contrast of labels</p>}
      <ColourScale {...scale} />
      <LeftOut of={left.map(({ layer, why }) => [layer, why])} />
    </>
  );
}

function short(value: number | null): string {
  if (value === null) return "";
  return Math.abs(value) < 100 ? hundredths(value) : formatValue(value, 2);
}
