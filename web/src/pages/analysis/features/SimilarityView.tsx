/** How alike samples are to a layer, sorted by label; and how alike layers are to one another. */
import { useState } from "preact/hooks";
import { formatCount, formatValue } from "../../../data/format";
import { setParams } from "../../../data/route";
import { ColourScale } from "../../../plot/ColourScale";
import type { Scale } from "../../../ui/colour-scale";
import { Segments } from "../../../ui/controls";
import type { FeatureContrast, FeatureRows } from "../../../wire";
import { Legend } from "../Figure";
import { usualScale } from "../SimilarityView";
import { chosenScale } from "../choice";
import { singlesOf } from "../items";
import { pairsOf, rangeOf } from "../pixels";
import { type Cell, Grid } from "./Grid";
import { LayerMatrix } from "./LayerMatrix";
import { Choice, MoreSamples, Work, WorkLine } from "./Work";
import { type Followed, useFollowed } from "./follow";
import * as store from "./store";
import { basisText, sampleName } from "./words";

interface Similar {
  readonly rows: FeatureRows;
  readonly contrast: FeatureContrast | null;
  readonly values: Float32Array;
  readonly note: string;
}

/** Fewer labels are named beside the picture. */
const MOST_NAMED = 20;

const METRIC_WORDS: readonly (readonly [store.Metric, string, string])[] = [
  ["correlation", "Correlation", "Pearson’s, over units"],
  ["cosine", "Cosine", "Of the angle between two samples"],
  ["euclidean", "Distance", "Euclid’s, over units"],
];

export function SimilarityView() {
  const done = store.listing.value?.num_done ?? 0;
  return (
    <>
      <div class="ft-controls">
        <Segments
          label="Metric"
          words={METRIC_WORDS}
          chosen={store.metric.value}
          choose={(one) => setParams({ by: one === "correlation" ? null : one })}
        />
        <Choice name="Samples" param="n" value={store.numSimilar.value} usual={500} choices={store.SIMILAR_SAMPLES} all={done} />
        <label class="check">
          <input type="checkbox" checked={store.isTable.value} onChange={(event) => setParams({ table: event.currentTarget.checked ? "yes" : null })} />
          Show as table
        </label>
      </div>
      <div class="ft-two">
        <Samples />
        <LayerMatrix />
      </div>
    </>
  );
}

function useSimilar(at: number): Followed<Similar> {
  const [set, kind, most] = [store.setId.value, store.metric.value, store.numSimilar.value];
  return useFollowed<Similar>(
    at < 0 ? null : { type: "feature_similarity", set_id: set, layer: at, metric: kind, most },
    (reply) => {
      const { answer } = reply;
      if (answer.type !== "feature_similarity") throw new Error(`The server answered with ${answer.type}.`);
      const { progress, note, is_done: isDone, rows, contrast } = answer;
      if (!isDone || rows === null) return { value: null, progress, note, isDone };
      const values = singlesOf(reply, rows.samples.length ** 2);
      return { value: { rows, contrast, values, note }, progress, note, isDone };
    },
  );
}

function Samples() {
  const name = store.layer.value?.name ?? "";
  const asked = useSimilar(store.layerAt.value);
  const { value, isOwn } = asked;
  const isShown = value !== null && (isOwn || (asked.problem === "" && !asked.isCancelled));
  return (
    <section class="an-figure" aria-label={`Samples in ${name}`} aria-busy={asked.progress !== null}>
      <header>
        <h3 class="clip" title={name}>
          {name}
        </h3>
        <span class="muted fs-1 clip">{isShown && isOwn && `samples by samples · ${basisText(value.rows.samples.length, value.rows.num_done)}`}</span>
        <span class="grow" />
        {isShown && <Aside of={asked} numThen={value.rows.num_done} />}
      </header>
      {isShown ? <Shown of={value} isOld={!isOwn} /> : <Work what="Comparing samples" of={asked} />}
    </section>
  );
}

function Aside({ of, numThen }: { of: Followed<Similar>; numThen: number }) {
  return of.isOwn ? <MoreSamples numThen={numThen} again={of.retry} /> : <WorkLine what="Comparing samples" of={of} />;
}

function Shown({ of: { rows, contrast, values, note }, isOld }: { of: Similar; isOld: boolean }) {
  const [pointed, setPointed] = useState<Cell | null>(null);
  const kind = store.metric.value;
  const range = rangeOf(pairsOf({ places: rows.samples, values }));
  const { scale, isAuto, set } = chosenScale(`features ${kind}`, range, openingScale(kind, range));
  const count = rows.samples.length;
  // The picture may be of fewer samples than the one before.
  const at = pointed !== null && Math.max(pointed.row, pointed.column) < count ? pointed : null;
  if (store.isTable.value) return <MatrixTable rows={rows} values={values} />;
  return (
    <div class={isOld ? "ft-body old" : "ft-body"}>
      <Grid
        values={values}
        numColumns={count}
        rows={rows}
        isSquare
        scale={scale}
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
            <span>{formatValue(values[at.row * count + at.column] ?? Number.NaN, 3)}</span>
          </>
        )}
      </p>
      <footer class="ft-foot">
        <div class="an-scale">
          <ColourScale scale={scale} isAuto={isAuto} onChange={set} />
        </div>
        <Contrast of={contrast} />
        {note !== "" && <span class="muted fs-1">{note}</span>}
        {rows.labels.length > MOST_NAMED && <Legend items={rows} />}
      </footer>
    </div>
  );
}

/** Where no pair is unlike, all colours are for how alike they are: after a ReLU all lie near 1. */
export function openingScale(kind: store.Metric, range: { min: number; max: number } | null): Scale {
  if (kind === "euclidean" || range === null || range.min < 0) return usualScale(kind, range);
  return { map: "seq", low: Math.min(0.9, Math.floor(range.min * 10) / 10), high: 1 };
}

function rangeText(range: { min: number; max: number } | null): string {
  return range === null ? "" : `, of pairs from ${formatValue(range.min, 3)} to ${formatValue(range.max, 3)}`;
}

function Contrast({ of }: { of: FeatureContrast | null }) {
  if (of === null) return <span class="muted fs-1">Without classes there is no contrast.</span>;
  const text = (value: number | null): string => (value === null ? "none" : formatValue(value, 3));
  return (
    <dl class="an-facts fs-2">
      <dt>Within labels</dt>
      <dd>{text(of.within)}</dd>
      <dt>Between</dt>
      <dd>{text(of.between)}</dd>
      <dt title="How much more alike samples of one label are">Contrast</dt>
      <dd>
        <b>{text(of.contrast)}</b>
      </dd>
    </dl>
  );
}

// --- Samples by samples as numbers, as far as a table can be read.

const MOST = 48;

function MatrixTable({ rows, values }: { rows: FeatureRows; values: Float32Array }) {
  const count = rows.samples.length;
  const shown = rows.samples.slice(0, MOST);
  return (
    <div class="an-table" role="region" aria-label="Matrix of samples" tabIndex={0}>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Sample</th>
            {shown.map((sample, at) => (
              <th scope="col" key={sample}>
                {rows.ids[at]}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((sample, row) => (
            <tr key={sample}>
              <th scope="row">{sampleName(rows, row)}</th>
              {shown.map((other, column) => (
                <td key={other}>{formatValue(values[row * count + column] ?? Number.NaN, 3)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {count > MOST && <p class="muted fs-1">{formatCount(count - MOST)} more samples are not in the table.</p>}
    </div>
  );
}
