/** How alike samples are to a layer, sorted by label; and how alike layers are to one another. */
import { useState } from "preact/hooks";
import { formatValue } from "../../../data/format";
import { setParams } from "../../../data/route";
import { ColourScale } from "../../../plot/ColourScale";
import { type Cell, Matrix } from "../../../plot/Matrix";
import { NumberTable } from "../../../plot/NumberTable";
import { Legend } from "../../../plot/labels";
import type { Range, Scale } from "../../../ui/colour-scale";
import type { FeatureContrast, FeatureRows } from "../../../wire";
import { Contrast, MetricChoice, TableCheck } from "../Figure";
import { MOST_IN_TABLE, type Pairs, pairsOf, rangeText, usualScale } from "../SimilarityView";
import { chosenScale, isTable, type Metric } from "../choice";
import { singlesOf } from "../items";
import { LayerMatrix } from "./LayerMatrix";
import { Choice, WorkFigure } from "./Work";
import { useFollowed } from "./follow";
import * as store from "./store";
import { basisText, sampleName } from "./words";

interface Similar extends Pairs {
  readonly rows: FeatureRows;
  readonly contrast: FeatureContrast | null;
  readonly note: string;
}

/** Fewer labels are named beside the picture. */
export const MOST_BESIDE = 20;

export function SimilarityView() {
  return (
    <>
      <div class="ft-controls">
        <MetricChoice param="by" chosen={store.metric.value} />
        <Choice name="Samples" param="n" value={store.numSimilar.value} usual={500} choices={store.SIMILAR_SAMPLES} />
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
  const name = store.layer.value?.name ?? "";
  const asked = { set_id: store.setId.value, layer: store.layerAt.value, metric: store.metric.value, most: store.numSimilar.value };
  const found = useFollowed("feature_similarity", asked.layer < 0 ? null : asked, (reply): Similar | null => {
    const { rows, contrast, note, is_done: isDone } = reply.answer;
    return isDone && rows !== null ? { rows, contrast, note, ...pairsOf(singlesOf(reply, rows.samples.length ** 2), rows.samples.length) } : null;
  });
  return (
    <WorkFigure
      label={`Samples in ${name}`}
      name={name}
      what="Comparing samples"
      of={found}
      numThen={found.value?.rows.num_done ?? 0}
      facts={({ rows }) => `samples by samples · ${basisText(rows.samples.length, rows.num_done)}`}
      draw={(value) => <Picture of={value} />}
    />
  );
}

function Picture({ of: { rows, contrast, values, range, note } }: { of: Similar }) {
  const [pointed, setPointed] = useState<Cell | null>(null);
  const kind = store.metric.value;
  const count = rows.samples.length;
  const scale = chosenScale(`features ${kind}`, range, openingScale(kind, range));
  // The picture may be of fewer samples than the one before.
  const at = pointed !== null && Math.max(pointed.row, pointed.column) < count ? pointed : null;
  const text = (row: number, column: number): string => formatValue(values[row * count + column] ?? Number.NaN, 3);
  if (isTable.value) {
    const shown = [...rows.samples.slice(0, MOST_IN_TABLE).keys()];
    return (
      <NumberTable
        label="Matrix of samples"
        head={["Sample", ...shown.map((row) => rows.ids[row]!)]}
        rows={shown.map((row) => [sampleName(rows, row), ...shown.map((column) => text(row, column))])}
        left={[count - shown.length, "samples"]}
      />
    );
  }
  return (
    <>
      <Matrix
        values={values}
        numRows={count}
        numColumns={count}
        of={rows}
        isSquare
        scale={scale.scale}
        at={at}
        onAt={setPointed}
        onChoose={({ row }) => setParams({ see: "values", sample: String(rows.samples[row]) })}
        summary={`How alike ${count} samples are, by ${kind}${rangeText(range)}. Arrows move, Enter shows the values of the sample.`}
      />
      <p class="an-reading">
        {at === null ? (
          <span class="muted">Point at a pair to read it; click it to see the values of its sample.</span>
        ) : (
          <>
            <b>{sampleName(rows, at.row)}</b>
            <span>and {sampleName(rows, at.column)}</span>
            <span>{text(at.row, at.column)}</span>
          </>
        )}
      </p>
      <footer class="ft-foot">
        <div class="an-scale">
          <ColourScale {...scale} />
        </div>
        <Contrast of={contrast} none="Without classes there is no contrast." hint="How much more alike samples of one label are" />
        {note !== "" && <span class="muted fs-1">{note}</span>}
        {rows.labels.length > MOST_BESIDE && <Legend of={rows} />}
      </footer>
    </>
  );
}

/** Where no pair is unlike, all colours are for how alike they are: after a ReLU all lie near 1. */
export function openingScale(kind: Metric, range: Range | null): Scale {
  if (kind === "euclidean" || range === null || range.min < 0) return usualScale(kind, range);
  return { map: "seq", low: Math.min(0.9, Math.floor(range.min * 10) / 10), high: 1 };
}
