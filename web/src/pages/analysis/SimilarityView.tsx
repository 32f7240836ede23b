/** How alike the layers see the items: a matrix for each, on one scale. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatCount, formatValue } from "../../data/format";
import { themeTick } from "../../data/store";
import type { Asked } from "../../data/useAsked";
import { ColourScale } from "../../plot/ColourScale";
import type { Scale } from "../../ui/colour-scale";
import { useSize } from "../../ui/useSize";
import type { NetContrast, NetLayer } from "../../wire";
import { describe, Figure, goToItem, Legend, ReadingLine, stepItem } from "./Figure";
import { chosenScale, current, first, isTable, metric, type Metric, order, second } from "./choice";
import { type Analysed, itemName, type Items, items, singlesOf, useAnalysis } from "./items";
import {
  labelColour,
  type Matrix,
  paintMatrix,
  pairsOf,
  rangeOf,
  readNumberInks,
  rowsOf,
  stretchesOf,
} from "./pixels";

type Answered = Analysed<"net_similarity">;

export function SimilarityView() {
  const kind = metric.value;
  const asked = [
    useAnalysis("net_similarity", first.value, { metric: kind }),
    useAnalysis("net_similarity", second.value, { metric: kind }),
  ].slice(0, second.value === null ? 1 : 2);
  const [other, setOther] = useState<number | null>(null);
  const answers = asked.map(({ value }) => value);
  const matrices = [useMatrix(answers[0]), useMatrix(answers[1])];
  const ranges = matrices.map((matrix) => (matrix === null ? null : rangeOf(pairsOf(matrix))));
  const range = rangeOf(ranges.flatMap((one) => (one === null ? [] : [one.min, one.max])));
  const { scale, isAuto, set } = chosenScale(kind, range, usualScale(kind, range));
  const all = items.value;
  return (
    <>
      <div class="an-figures">
        {asked.map((one, at) => (
          <LayerFigure
            key={at}
            layer={(at === 0 ? first.value : second.value)!}
            asked={one}
            matrix={matrices[at] ?? null}
            range={ranges[at] ?? null}
            scale={scale}
            other={other}
            onPair={setOther}
          />
        ))}
      </div>
      <ReadingLine more={() => (all === null ? "" : pairText(all, asked.map((one) => one.value), matrices, other))} />
      <div class="an-below">
        <div class="an-scale">
          <span class="muted fs-1">{SCALE_WORDS[kind]}</span>
          <ColourScale scale={scale} isAuto={isAuto} onChange={set} />
        </div>
        {all !== null && <Legend items={all} />}
      </div>
    </>
  );
}

interface FigureProps {
  layer: NetLayer;
  asked: Asked<Answered>;
  matrix: Matrix | null;
  range: { min: number; max: number } | null;
  scale: Scale;
  other: number | null;
  onPair: (other: number | null) => void;
}

function LayerFigure({ layer, asked: { value, problem, retry }, matrix, range, scale, other, onPair }: FigureProps) {
  const isIts = value?.layer.name === layer.name;
  const kind = metric.value;
  return (
    <Figure
      layer={layer}
      problem={problem}
      retry={retry}
      isReady={isIts && matrix !== null}
      isOld={isIts && value.items !== items.value}
      note={value?.head.note ?? ""}
      facts={value !== null && <Contrast contrast={value.head.contrast} metric={kind} />}
    >
      {value !== null && matrix !== null && (
        <Body value={value} matrix={matrix} summary={summaryOf(layer.name, matrix, kind, range)} {...{ scale, other, onPair }} />
      )}
    </Figure>
  );
}

interface BodyProps extends Pick<FigureProps, "scale" | "other" | "onPair"> {
  value: Answered;
  matrix: Matrix;
  summary: string;
}

function Body({ value, matrix, ...rest }: BodyProps) {
  const order = orderOf(value);
  if (isTable.value) return <MatrixTable matrix={matrix} items={value.items} order={order} />;
  return <MatrixPicture matrix={matrix} items={value.items} order={order} {...rest} />;
}

const SCALE_WORDS: Record<Metric, string> = {
  correlation: "Correlation of two items over units",
  cosine: "Cosine of two items over units",
  euclidean: "Distance of two items over units",
};

function useMatrix(answer: Answered | null | undefined): Matrix | null {
  return useMemo(() => (answer == null ? null : matrixOf(answer)), [answer]);
}

export function matrixOf({ head, bytes }: Answered): Matrix {
  const count = head.places.length;
  const treeBytes = 32 * Math.max(0, head.leaves.length - 1);
  return { places: head.places, values: singlesOf(bytes, count * count, treeBytes) };
}

function orderOf({ head }: Answered): readonly number[] {
  if (order.value === "item") return head.places;
  if (order.value === "label") return head.by_label;
  // What is in no tree stands at its end.
  const standing = new Set(head.by_tree);
  return [...head.by_tree, ...head.places.filter((place) => !standing.has(place))];
}

/** Likeness has a middle, and reaches to that of an item with itself; distance begins at nought. */
export function usualScale(kind: Metric, range: { min: number; max: number } | null): Scale {
  if (kind === "euclidean") return { map: "seq", low: 0, high: range === null || range.max <= 0 ? 1 : range.max };
  return { map: "div", low: -1, high: 1 };
}

function Contrast({ contrast, metric: kind }: { contrast: NetContrast | null; metric: Metric }) {
  if (contrast === null) return <span class="muted">Without labels there is no contrast.</span>;
  const text = (value: number | null): string => (value === null ? "none" : formatValue(value, 3));
  const what = kind === "euclidean" ? "How much nearer items of one label are" : "How much more alike items of one label are";
  return (
    <dl class="an-facts">
      <dt>Within labels</dt>
      <dd>{text(contrast.within)}</dd>
      <dt>Between</dt>
      <dd>{text(contrast.between)}</dd>
      <dt title={what}>Contrast</dt>
      <dd title={what}>
        <b>{text(contrast.contrast)}</b>
      </dd>
    </dl>
  );
}

function pairText(all: Items, answers: readonly (Answered | null)[], matrices: readonly (Matrix | null)[], other: number | null): string {
  const place = current.value;
  if (place === null || other === null) return "";
  const values = matrices.slice(0, answers.length).map((matrix) => {
    if (matrix === null) return "";
    const [row, column] = rowsOf(matrix, [place, other]);
    if (row === undefined || column === undefined) return "";
    const value = matrix.values[row * matrix.places.length + column]!;
    return Number.isNaN(value) ? "not defined" : formatValue(value, 4);
  });
  return `with ${itemName(all, other)}: ${values.filter(Boolean).join(" and ")}`;
}

// --- The same matrix as numbers, as far as a table can be read.

const MOST = 48;

function MatrixTable({ matrix, items, order }: { matrix: Matrix; items: Items; order: readonly number[] }) {
  const shown = order.slice(0, MOST);
  const rows = rowsOf(matrix, shown);
  return (
    <div class="an-table" role="region" aria-label="Matrix of items" tabIndex={0}>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Item</th>
            {shown.map((place) => (
              <th scope="col" key={place}>
                {itemName(items, place)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((place, at) => (
            <tr key={place}>
              <th scope="row">
                <button class="link" title="Show in the network" onClick={() => goToItem(items, place)}>
                  {describe(items, place)}
                </button>
              </th>
              {rows.map((column) => (
                <td key={column}>{formatValue(matrix.values[rows[at]! * matrix.places.length + column]!, 3)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {order.length > MOST && <p class="muted fs-1">{formatCount(order.length - MOST)} more items are not in the table.</p>}
    </div>
  );
}

// --- A similarity matrix: items down and across, with the labels beside them.

interface Props {
  matrix: Matrix;
  items: Items;
  order: readonly number[];
  scale: Scale;
  summary: string;
  /** The other item of the pair under the pointer: its column is marked. */
  other: number | null;
  onPair: (other: number | null) => void;
}

const BAND = 8;
const NAMES = 76;
const LINE = 13;

function MatrixPicture({ matrix, items, order, scale, summary, other, onPair }: Props) {
  const [box, room] = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const rows = rowsOf(matrix, order);
  const count = rows.length;
  const hasLabels = items.labels.length > 0;
  const margin = hasLabels ? NAMES : 0;
  const side = Math.max(0, Math.floor(Math.min(room.width - margin - BAND - 4, room.height - BAND - 4)));
  const tick = themeTick.value;
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (context == null || count === 0) return;
    const pixels = paintMatrix(matrix, rows, scale, readNumberInks(scale.map));
    context.putImageData(new ImageData(pixels, count, count), 0, 0);
  }, [matrix, order.join(), scale.low, scale.high, scale.map, tick, count, side > 0]);
  const stretches = hasLabels ? stretchesOf(order, items) : [];
  const cell = side / Math.max(1, count);
  const at = current.value === null ? -1 : order.indexOf(current.value);
  const across = Math.max(0, other === null ? at : order.indexOf(other));
  const pointAt = (event: PointerEvent): void => {
    const area = canvas.current?.getBoundingClientRect();
    if (area === undefined) return;
    const of = (part: number): number | undefined => order[Math.max(0, Math.min(count - 1, Math.floor(part * count)))];
    current.value = of((event.clientY - area.top) / area.height) ?? null;
    onPair(of((event.clientX - area.left) / area.width) ?? null);
  };
  return (
    <div class="an-room" ref={box}>
      {side > 0 && (
        <div
          class="an-matrix"
          style={{ width: `${side + margin + BAND}px`, height: `${side + BAND}px` }}
          role="img"
          aria-label={summary}
          tabIndex={0}
          onKeyDown={(event) => {
            stepItem(event, order, items);
            onPair(null);
          }}
          onPointerLeave={() => {
            current.value = null;
            onPair(null);
          }}
        >
          <canvas
            ref={canvas}
            width={count}
            height={count}
            style={{ left: `${margin + BAND}px`, top: `${BAND}px`, width: `${side}px`, height: `${side}px` }}
            onPointerMove={pointAt}
            onClick={() => current.peek() !== null && goToItem(items, current.peek()!)}
          />
          <svg width={side + margin + BAND} height={side + BAND} aria-hidden="true">
            {stretches.map(({ label, from, count: size }, one) => {
              const fill = labelColour(label, items.labels.length);
              const [start, length] = [from * cell, size * cell];
              return (
                <g key={one}>
                  <rect x={margin} y={BAND + start} width={BAND - 2} height={Math.max(1, length - 1)} fill={fill} />
                  <rect x={margin + BAND + start} y={0} width={Math.max(1, length - 1)} height={BAND - 2} fill={fill} />
                  {length >= LINE && (
                    <text x={margin - 4} y={BAND + start + length / 2 + 4} class="e">
                      {shortened(items.labels[label ?? 0] ?? "")}
                    </text>
                  )}
                </g>
              );
            })}
            {at >= 0 && (
              <>
                <rect class="an-line" x={margin + BAND} y={BAND + at * cell} width={side} height={cell} />
                <rect class="an-line" x={margin + BAND + across * cell} y={BAND} width={cell} height={side} />
                <rect class="an-outline" x={margin + BAND + across * cell} y={BAND + at * cell} width={cell} height={cell} />
              </>
            )}
          </svg>
        </div>
      )}
    </div>
  );
}

function shortened(text: string): string {
  return text.length <= 12 ? text : `${text.slice(0, 11)}…`;
}

/** In a sentence, for those who do not see it. */
function summaryOf(layer: string, matrix: Matrix, metric: string, range: { min: number; max: number } | null): string {
  const between = range === null ? "" : `, of pairs from ${formatValue(range.min, 3)} to ${formatValue(range.max, 3)}`;
  return `How alike ${layer} sees ${matrix.places.length} items, by ${metric}${between}. Arrows move, Enter shows the item in the network.`;
}
