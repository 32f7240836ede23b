/** What the layers make of the items: one kind of picture at a time, of one layer or of two beside each other. */
import type { FunctionComponent } from "preact";
import { useEffect } from "preact/hooks";
import { formatCount, formatValue } from "../../data/format";
import { list } from "../../data/network/moments";
import { sentence } from "../../data/network/words";
import { setParams } from "../../data/route";
import { source } from "../../data/store";
import { NumberTable } from "../../plot/NumberTable";
import { labelColour, Legend } from "../../plot/labels";
import { Blank } from "../../ui/Blank";
import { Segments } from "../../ui/controls";
import { ComponentsView } from "./ComponentsView";
import { FieldView } from "./FieldView";
import { Chart, LayerFigures, Levels, ReadingLine, TableCheck } from "./Figure";
import { SimilarityView } from "./SimilarityView";
import { TuningView } from "./TuningView";
import { choice, current, first, isAnalysis, isTable, metric, sight, type Sight, variable } from "./choice";
import { type Analysed, doublesOf, followItems, itemName, items, labelOf, problem, useBoth } from "./items";
import "./analysis.css";

// --- The items as a tree: those that are most alike are joined first.

type Answered = Analysed<"net_similarity", readonly Join[]>;

const MOST_ROWS = 200;

function ClustersView() {
  const kind = metric.value;
  const looks = useBoth("net_similarity", () => ({ metric: kind }), (reply): readonly Join[] => {
    const { leaves, by_tree: standing } = reply.answer;
    const at = new Map(standing.map((place, one) => [place, one]));
    const tree = doublesOf(reply, 4 * Math.max(0, leaves.length - 1));
    return joinsOf(tree, leaves.map((place) => at.get(place) ?? 0));
  });
  const all = items.value;
  return (
    <>
      <LayerFigures
        looks={looks}
        facts={() => <span class="muted">Joined by the mean distance of their members</span>}
        draw={(value) => value !== null && <Tree value={value} />}
      />
      <ReadingLine />
      <div class="an-below">{all !== null && <Legend of={all} />}</div>
    </>
  );
}

function Tree({ value }: { value: Answered }) {
  const joins = value.data;
  if (joins.length === 0) {
    return (
      <Blank icon="tree" title="There is no tree">
        <span>It takes two items at least whose likeness is defined. The euclidean metric is defined for all.</span>
      </Blank>
    );
  }
  if (!isTable.value) return <Dendrogram value={value} />;
  const last = joins.slice(-MOST_ROWS).reverse();
  return (
    <NumberTable
      label="Table of clusters"
      head={["Clusters left", "Distance of the two that are joined", "Items joined"]}
      rows={last.map(({ distance, count }, at) => [formatCount(at + 1), formatValue(distance, 4), formatCount(count)])}
    />
  );
}

const [LEFT, EDGE, BAND, LINE] = [52, 12, 10, 13];
const [MOST_LETTERS, LETTER] = [12, 7];

function Dendrogram({ value: { data: joins, items: all, head, layer } }: { value: Answered }) {
  const order = head.by_tree;
  const names = order.map((place) => (labelOf(all, place) || itemName(all, place)).slice(0, MOST_LETTERS));
  const longest = Math.max(...names.map(({ length }) => length));
  const most = Math.max(...joins.map(({ distance }) => distance), 1e-12);
  const at = current.value === null ? -1 : order.indexOf(current.value);
  return (
    <Chart
      summary={`Tree of ${order.length} items of ${layer.name}, joined up to a distance of ${formatValue(most, 3)}. Arrows move, Enter shows the item in the network.`}
      items={all}
      order={order}
      draw={(width, height) => {
        const pitch = (width - LEFT - EDGE) / order.length;
        const hasNames = pitch >= LINE;
        const bottom = height - BAND - EDGE - (hasNames ? longest * LETTER : 0);
        const x = (place: number): number => LEFT + (place + 0.5) * pitch;
        const y = (distance: number): number => bottom - (distance / most) * (bottom - EDGE);
        const picture = (
          <>
            <Levels low={0} high={most} left={LEFT} right={width - EDGE} y={y} />
            <text class="c title" transform={`translate(11 ${(EDGE + bottom) / 2}) rotate(-90)`}>
              {metric.value === "euclidean" ? "Distance" : `1 − ${metric.value}`}
            </text>
            <path class="an-tree" d={pathOf(joins, x, y)} />
            {order.map((place, one) => (
              <g key={place}>
                <rect
                  x={LEFT + one * pitch}
                  y={bottom + 3}
                  width={Math.max(1, pitch - (pitch > 3 ? 1 : 0))}
                  height={BAND}
                  fill={all.labels.length > 0 ? labelColour(all.label_of[place], all.labels.length) : "var(--line-2)"}
                />
                {hasNames && (
                  <text class="e" transform={`translate(${x(one) + 4} ${bottom + BAND + 8}) rotate(-90)`}>
                    {names[one]}
                  </text>
                )}
              </g>
            ))}
            {at >= 0 && <rect class="an-outline" x={LEFT + at * pitch} y={bottom + 2} width={Math.max(3, pitch)} height={BAND + 2} />}
          </>
        );
        return { picture, itemAt: (left) => order[Math.floor((left - LEFT) / pitch)] ?? null };
      }}
    />
  );
}

// --- A tree of clusters as lines: where each join is, across in leaves, and how far apart what it joins is.

interface Join {
  /** The two that are joined: where they stand, and how far down their line goes. */
  readonly left: number;
  readonly right: number;
  readonly leftBase: number;
  readonly rightBase: number;
  readonly distance: number;
  /** Items below it. */
  readonly count: number;
}

/**
 * `tree` in rows of four: two numbers, their distance, how many items. `standing`: for each leaf as the tree numbers
 * it, its place from the left.
 */
export function joinsOf(tree: Float64Array, standing: readonly number[]): Join[] {
  const places = [...standing];
  const bases = standing.map(() => 0);
  const joins: Join[] = [];
  for (let row = 0; row + 3 < tree.length; row += 4) {
    const [one, other, distance, count] = [tree[row]!, tree[row + 1]!, tree[row + 2]!, tree[row + 3]!];
    const [left, right] = (places[one] ?? 0) <= (places[other] ?? 0) ? [one, other] : [other, one];
    const [from, to] = [places[left] ?? 0, places[right] ?? 0];
    joins.push({ left: from, right: to, leftBase: bases[left] ?? 0, rightBase: bases[right] ?? 0, distance, count });
    places.push((from + to) / 2);
    bases.push(distance);
  }
  return joins;
}

/** As an SVG path; `x` of a place, `y` of a distance. */
export function pathOf(joins: readonly Join[], x: (place: number) => number, y: (distance: number) => number): string {
  const text = (value: number): string => value.toFixed(1);
  return joins
    .map(({ left, right, leftBase, rightBase, distance }) => {
      const top = text(y(distance));
      return `M${text(x(left))} ${text(y(leftBase))}V${top}H${text(x(right))}V${text(y(rightBase))}`;
    })
    .join("");
}

const WORDS: readonly (readonly [Sight, string, string])[] = [
  ["similarity", "Similarity", "How alike a layer sees the items"],
  ["components", "Components", "The items along the directions in which a layer varies most"],
  ["clusters", "Clusters", "The items as a tree"],
  ["tuning", "Tuning", "Which label each unit responds to, and how selective it is"],
  ["field", "Receptive field", "What the input looks like when a unit responds"],
];

const VIEWS: Record<Sight, FunctionComponent> = {
  similarity: SimilarityView,
  components: ComponentsView,
  clusters: ClustersView,
  tuning: TuningView,
  field: FieldView,
};

export function AnalysisStage() {
  useEffect(followItems, []);
  return (
    <section class="an-stage" aria-label="Analysis">
      <div class="an-bar" role="toolbar" aria-label="Analysis">
        <ModeSwitch />
        <span class="sep" />
        <Segments label="Analysis" words={WORDS} chosen={sight.value} choose={(word) => setParams({ see: word === "similarity" ? null : word })} />
        <span class="grow" />
        <TableCheck />
      </div>
      <Body />
    </section>
  );
}

function Body() {
  const View = VIEWS[sight.value];
  if (first.value === null) {
    return (
      <Blank icon="only" title={`No layer has ${variable.value}`}>
        <span>Choose another variable at the left.</span>
      </Blank>
    );
  }
  if (items.value === null && problem.value !== "") {
    return (
      <Blank icon="warning" title="There are no items to compare" isError>
        <span>{sentence(problem.value)}</span>
      </Blank>
    );
  }
  // Until the server has said which moments there are, nobody knows that there is none.
  if (choice.value === null) return list.value === null ? null : <Blank icon="only" title="No moment was recorded yet" />;
  return <View key={sight.value} />;
}

/** Between the network and what its layers make of the items. */
export function ModeSwitch() {
  // A page that is one file has nobody to ask.
  if (source.value?.connection.value.state === "one-file") return null;
  return (
    <Segments
      label="Shown"
      words={[
        ["network", "Network"],
        ["analysis", "Analysis", "Similarity, components, clusters, tuning and receptive fields of the layers"],
      ]}
      chosen={isAnalysis.value ? "analysis" : "network"}
      choose={(word) => setParams({ show: word === "analysis" ? "analysis" : null })}
    />
  );
}
