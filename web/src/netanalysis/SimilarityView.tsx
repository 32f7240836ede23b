/** How alike the layers see the items: a matrix for each, on one scale. */
import { useMemo, useState } from "preact/hooks";
import { formatValue } from "../format";
import { ColourScale } from "../inspector/ColourScale";
import type { Scale } from "../tensor/colour";
import type { Asked } from "../sections/useAsked";
import type { NetContrast, NetLayer } from "../wire";
import { singlesOf, useAnalysis, type Analysed } from "./answers";
import { current, first, isTable, metric, order, second, type Metric } from "./choosing";
import { rangeOf } from "./colours";
import { Figure } from "./Figure";
import { itemName, items, type Items } from "./items";
import { Legend } from "./Legend";
import { pairsOf, rowsOf, type Matrix } from "./matrix";
import { MatrixPicture, summaryOf } from "./MatrixPicture";
import { MatrixTable } from "./MatrixTable";
import { ReadingLine } from "./ReadingLine";
import { chosenScale } from "./scales";

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
