/** The items as a tree: those that are most alike are joined first. */
import { useMemo } from "preact/hooks";
import { linearTicks } from "../charting/numberticks";
import { formatTicks } from "../charting/tickwords";
import { formatCount, formatValue } from "../format";
import { Blank } from "../shell/Blank";
import { doublesOf, useAnalysis, type Analysed } from "./answers";
import { current, first, isTable, metric, second } from "./choosing";
import { labelColour } from "./colours";
import { joinsOf, pathOf, type Join } from "./dendrogram";
import { Figure } from "./Figure";
import { itemName, items, labelOf } from "./items";
import { Legend } from "./Legend";
import { goToItem, ReadingLine, stepItem } from "./ReadingLine";
import { useSize } from "./useSize";

type Answered = Analysed<"net_similarity">;

export function ClustersView() {
  const kind = metric.value;
  const asked = [
    useAnalysis("net_similarity", first.value, { metric: kind }),
    useAnalysis("net_similarity", second.value, { metric: kind }),
  ];
  const all = items.value;
  return (
    <>
      <div class="an-figures">
        {[first.value, second.value].map((layer, at) => {
          const { value, problem, retry } = asked[at]!;
          if (layer === null) return null;
          const isIts = value?.layer.name === layer.name;
          return (
            <Figure
              key={at}
              layer={layer}
              problem={problem}
              retry={retry}
              isReady={isIts}
              isOld={isIts && value.items !== all}
              note={value?.head.note ?? ""}
              facts={<span class="muted">Joined by the mean distance of their members</span>}
            >
              {value !== null && <Tree value={value} />}
            </Figure>
          );
        })}
      </div>
      <ReadingLine />
      <div class="an-below">{all !== null && <Legend items={all} />}</div>
    </>
  );
}

function Tree({ value }: { value: Answered }) {
  const joins = useMemo(() => treeOf(value), [value]);
  if (joins.length === 0) {
    return (
      <Blank icon="tree" title="There is no tree">
        <span>It takes two items at least whose likeness is defined. The euclidean metric is defined for all.</span>
      </Blank>
    );
  }
  return isTable.value ? <JoinTable joins={joins} /> : <Dendrogram value={value} joins={joins} />;
}

export function treeOf({ head, bytes }: Answered): Join[] {
  const { leaves, by_tree: standing } = head;
  const at = new Map(standing.map((place, one) => [place, one]));
  const tree = doublesOf(bytes, 4 * Math.max(0, leaves.length - 1));
  return joinsOf(
    tree,
    leaves.map((place) => at.get(place) ?? 0),
  );
}

const [LEFT, EDGE, BAND, LINE] = [52, 12, 10, 13];
const [MOST_LETTERS, LETTER] = [12, 7];

function Dendrogram({ value, joins }: { value: Answered; joins: readonly Join[] }) {
  const [box, room] = useSize<HTMLDivElement>();
  const { items: all, head } = value;
  const order = head.by_tree;
  const [width, height] = [Math.floor(room.width), Math.floor(room.height)];
  const pitch = (width - LEFT - EDGE) / order.length;
  const hasNames = pitch >= LINE;
  const names = order.map((place) => (labelOf(all, place) || itemName(all, place)).slice(0, MOST_LETTERS));
  const longest = Math.max(...names.map(({ length }) => length));
  const bottom = height - BAND - EDGE - (hasNames ? longest * LETTER : 0);
  const most = Math.max(...joins.map(({ distance }) => distance), 1e-12);
  const x = (place: number): number => LEFT + (place + 0.5) * pitch;
  const y = (distance: number): number => bottom - (distance / most) * (bottom - EDGE);
  const ticks = linearTicks({ low: 0, high: most });
  const texts = formatTicks(ticks);
  const at = current.value === null ? -1 : order.indexOf(current.value);
  const pointAt = (event: PointerEvent): void => {
    const area = (event.currentTarget as Element).getBoundingClientRect();
    current.value = order[Math.floor((event.clientX - area.left - LEFT) / pitch)] ?? null;
  };
  return (
    <div class="an-room" ref={box}>
      {width > 0 && height > 0 && (
        <svg
          class="an-chart"
          width={width}
          height={height}
          role="img"
          aria-label={`Tree of ${order.length} items of ${value.layer.name}, joined up to a distance of ${formatValue(most, 3)}. Arrows move, Enter shows the item in the network.`}
          tabindex={0}
          onPointerMove={pointAt}
          onPointerLeave={() => (current.value = null)}
          onClick={() => current.peek() !== null && goToItem(all, current.peek()!)}
          onKeyDown={(event) => stepItem(event, order, all)}
        >
          {ticks.map((tick, one) => (
            <g key={tick}>
              <path class="grid" d={`M${LEFT} ${Math.round(y(tick)) + 0.5}H${width - EDGE}`} />
              <text class="e" x={LEFT - 6} y={y(tick) + 4}>
                {texts[one]}
              </text>
            </g>
          ))}
          <text class="c title" transform={`translate(11 ${(EDGE + bottom) / 2}) rotate(-90)`}>
            {metric.value === "euclidean" ? "Distance" : `1 − ${metric.value}`}
          </text>
          <path class="an-tree" d={pathOf(joins, x, y)} />
          {order.map((place, one) => (
            <rect
              key={place}
              x={LEFT + one * pitch}
              y={bottom + 3}
              width={Math.max(1, pitch - (pitch > 3 ? 1 : 0))}
              height={BAND}
              fill={all.labels.length > 0 ? labelColour(all.label_of[place], all.labels.length) : "var(--line-2)"}
            />
          ))}
          {hasNames &&
            order.map((place, one) => (
              <text key={place} class="e" transform={`translate(${x(one) + 4} ${bottom + BAND + 8}) rotate(-90)`}>
                {names[one]}
              </text>
            ))}
          {at >= 0 && <rect class="an-outline" x={LEFT + at * pitch} y={bottom + 2} width={Math.max(3, pitch)} height={BAND + 2} />}
        </svg>
      )}
    </div>
  );
}

const MOST_ROWS = 200;

function JoinTable({ joins }: { joins: readonly Join[] }) {
  const last = [...joins].reverse().slice(0, MOST_ROWS);
  return (
    <div class="an-table" role="region" aria-label="Table of clusters" tabIndex={0}>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Clusters left</th>
            <th scope="col">Distance of the two that are joined</th>
            <th scope="col">Items joined</th>
          </tr>
        </thead>
        <tbody>
          {last.map(({ distance, count }, at) => (
            <tr key={at}>
              <td>{formatCount(at + 1)}</td>
              <td>{formatValue(distance, 4)}</td>
              <td>{formatCount(count)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
