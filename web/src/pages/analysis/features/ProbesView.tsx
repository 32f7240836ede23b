/** How well labels can be read from each layer: a row for each, its folds as points, chance as a line. */
import { useMemo, useRef, useState } from "preact/hooks";
import { formatCount, formatNumberOf, formatShare } from "../../../data/format";
import { setParams } from "../../../data/route";
import { CellTable } from "../../../plot/CellTable";
import { formatTicks, linearTicks, niceSpan } from "../../../plot/ticks";
import { Blank } from "../../../ui/Blank";
import { rangeOf, type Scale, stepClass } from "../../../ui/colour-scale";
import { Segments } from "../../../ui/controls";
import { useSize } from "../../../ui/useSize";
import type { FeatureProbe } from "../../../wire";
import { Figure } from "../Figure";
import { evenly } from "./LayerMatrix";
import { Choice, MoreSamples, Work, WorkLine } from "./Work";
import { type Followed, useFollowed } from "./follow";
import * as store from "./store";
import { basisText } from "./words";

const MOST_LAYERS = 128;

/** By the number of the layer. */
interface Probed {
  readonly probes: ReadonlyMap<number, FeatureProbe>;
  readonly at: number | null;
  readonly numDone: number;
}

const KIND_WORDS: readonly (readonly [store.ProbeKind, string, string])[] = [
  ["ridge", "Ridge", "Ridge regression: quick; for classes, one against the others"],
  ["logistic", "Logistic", "Logistic regression: for classes; takes longer"],
];

export function ProbesView() {
  const detail = store.detail.value;
  if (detail?.label_kind === "none") {
    return (
      <Blank icon="flask" title="There are no labels to read from the layers">
        <span>Extract from data that gives an input and a label for each sample; they are stored with the features.</span>
        <pre>{'tl.extract(model, TensorDataset(images, labels), layers=["features.6"], to="features/vgg")'}</pre>
      </Blank>
    );
  }
  return <Probes />;
}

function useProbes(layers: number[], kind: store.ProbeKind): Followed<Probed> {
  const done = store.listing.value?.num_done ?? 0;
  const asked = { set_id: store.setId.value, layers, kind, folds: store.numFolds.value, most: store.numProbed.value };
  return useFollowed("feature_probes", layers.length === 0 ? null : asked, ({ answer }, before: Probed | null) => {
    const probes = new Map(before?.probes);
    for (const probe of answer.probes) probes.set(probe.layer, probe);
    return { probes, at: answer.is_done ? null : (answer.at ?? before?.at ?? null), numDone: before?.numDone ?? done };
  });
}

function Probes() {
  const all = store.layers.value;
  const chosen = evenly(all.length, MOST_LAYERS);
  // Numbers have no classes.
  const isOfNumbers = store.detail.value?.label_kind === "numbers";
  const kind = isOfNumbers ? "ridge" : store.probeKind.value;
  const asked = useProbes(chosen, kind);
  const value = asked.isOwn ? asked.value : null;
  return (
    <>
      <div class="ft-controls">
        {!isOfNumbers && (
          <Segments label="Probe" words={KIND_WORDS} chosen={kind} choose={(one) => setParams({ probe: one === "ridge" ? null : one })} />
        )}
        <Choice name="Samples" param="probed" value={store.numProbed.value} usual={2000} choices={store.PROBED_SAMPLES} />
        <Choice name="Folds" param="folds" value={store.numFolds.value} usual={5} choices={store.FOLDS} all={Infinity} />
        <label class="check">
          <input type="checkbox" checked={store.isZoomed.value} onChange={(event) => setParams({ zoom: event.currentTarget.checked ? "yes" : null })} />
          Scores only
        </label>
        <span class="grow" />
        {value !== null && <WorkLine what={workOf(value, all)} of={asked} />}
        {value !== null && asked.progress === null && <MoreSamples numThen={value.numDone} again={asked.retry} />}
      </div>
      {value === null ? <Work what="Probing" of={asked} /> : <Shown of={value} chosen={chosen} isBusy={asked.progress !== null} />}
    </>
  );
}

function Shown({ of: { probes, at, numDone }, chosen, isBusy }: { of: Probed; chosen: number[]; isBusy: boolean }) {
  const first = [...probes.values()].find(({ why }) => why === "");
  const numAll = store.layers.value.length;
  return (
    <div class="ft-two ft-probes">
      <Figure
        label="Probes"
        name={first?.metric === "r2" ? "R² by layer" : "Accuracy by layer"}
        isBusy={isBusy}
        facts={
          <>
            {first !== undefined && `${first.kind} · ${store.numFolds.value} folds · ${basisText(first.num_samples, numDone)}`}
            {numAll > chosen.length && ` · ${MOST_LAYERS} of ${formatCount(numAll)} layers`}
          </>
        }
      >
        <ProbeChart probes={probes} layers={chosen} at={at} />
      </Figure>
      <Confusion probe={probes.get(store.layerAt.value)} />
    </div>
  );
}

function workOf({ at }: Probed, all: readonly { name: string }[]): string {
  const name = at === null ? undefined : all[at]?.name;
  return name === undefined ? "Probing" : `Probing ${name}`;
}

// --- Which labels a probe takes for which others: a row for each right label, a column for what was said.

/** Numbers can be read in cells of this many labels. */
const MOST_NUMBERS = 16;

function Confusion({ probe }: { probe: FeatureProbe | undefined }) {
  const hasLabels = probe?.why === "" && probe.metric === "accuracy";
  return (
    <Figure
      label="Confusions"
      name={store.layer.value?.name ?? ""}
      isBusy={false}
      look="ft-confusion"
      facts={hasLabels && "right label down, what was said across"}
    >
      {probe === undefined && <p class="muted fs-2">Not probed yet.</p>}
      {probe !== undefined && (probe.confusion.length > 0 ? <Counts probe={probe} /> : <Instead probe={probe} />)}
    </Figure>
  );
}

function Instead({ probe }: { probe: FeatureProbe }) {
  if (probe.why !== "") return <p class="hint">{probe.why}</p>;
  const units = formatNumberOf(probe.num_units, "unit");
  return (
    <p class="muted fs-2">
      {probe.metric === "r2"
        ? `R² is the share of the variance of the labels that is read from ${units}: 1 is all, 0 is no more than their mean.`
        : "There are too many labels for a table of confusions."}
    </p>
  );
}

function Counts({ probe: { labels, confusion, num_units: numUnits } }: { probe: FeatureProbe }) {
  const [at, setAt] = useState<readonly [number, number] | null>(null);
  const totals = useMemo(() => confusion.map((row) => row.reduce((sum, one) => sum + one, 0)), [confusion]);
  const wrong = confusion.flatMap((row, right) => row.filter((_, said) => said !== right));
  // Confusions are few beside what is right: these have a scale of their own.
  const scale: Scale = { map: "seq", low: 0, high: Math.max(1, rangeOf(wrong)?.max ?? 1) };
  const numRight = confusion.reduce((sum, row, right) => sum + (row[right] ?? 0), 0);
  const all = totals.reduce((sum, one) => sum + one, 0);
  const cell = (right: number, said: number) => {
    const count = confusion[right]?.[said] ?? 0;
    return {
      look: right === said ? "ft-right" : count === 0 ? "ft-zero" : `cell ${stepClass(scale, count)}`,
      title: `${labels[right] ?? ""} taken for ${labels[said] ?? ""}: ${formatCount(count)} of ${formatCount(totals[right] ?? 0)}`,
      text: count > 0 || right === said ? formatCount(count) : "",
    };
  };
  return (
    <>
      <div class="ft-cells">
        <CellTable label="Confusions" rows={labels} head="across" hasNumbers={labels.length <= MOST_NUMBERS} cell={cell} onPoint={setAt} look="ft-square" />
      </div>
      <p class="an-reading">
        {at === null ? (
          <span class="muted">
            {formatCount(numRight)} of {formatCount(all)} right ({formatShare(numRight, all)}), from {formatNumberOf(numUnits, "unit")}
          </span>
        ) : (
          <span>{cell(...at).title}</span>
        )}
      </p>
    </>
  );
}

// --- A row for each layer: the folds as points, their mean, and chance as a line.

const ROW = 28;

interface ChartProps {
  probes: ReadonlyMap<number, FeatureProbe>;
  layers: readonly number[];
  /** The one that is being probed. */
  at: number | null;
}

/** Where scores stand: from nought, with chance, up to the best; or as far as scores reach, and no further. */
export function spanOf(probes: Iterable<FeatureProbe>, isZoomed: boolean): { low: number; high: number } {
  const found = [...probes].flatMap(({ scores, chance, metric }) => {
    // A score far below nought says no more than that there is nothing.
    const there = scores.filter((score) => score !== null).map((score) => Math.max(-0.5, score));
    return isZoomed ? there : [...there, chance ?? 0, 0, ...(metric === "accuracy" ? [1] : [])];
  });
  if (found.length === 0) return { low: 0, high: 1 };
  const span = niceSpan({ low: Math.min(...found), high: Math.max(...found) });
  return span.high > span.low ? span : { low: span.low, high: span.low + 1 };
}

function ProbeChart({ probes, layers, at }: ChartProps) {
  const [box, room] = useSize<HTMLDivElement>();
  const list = useRef<HTMLUListElement>(null);
  const span = spanOf(probes.values(), store.isZoomed.value);
  const ticks = linearTicks(span, room.width < 320 ? 3 : 5);
  const texts = formatTicks(ticks);
  const place = (score: number): string => `${(100 * (Math.max(span.low, score) - span.low)) / (span.high - span.low)}%`;
  const known = [...probes.values()].find((one) => one.chance !== null)?.chance ?? null;
  const chance = known !== null && known >= span.low && known <= span.high ? known : null;
  const reveal = (row: number): void => list.current?.children[row]?.scrollIntoView({ block: "nearest" });
  return (
    <div class="ft-chart" ref={box}>
      <div class="ft-chart-axis" aria-hidden="true">
        <span />
        <span class="ft-track">
          {ticks.map((tick, one) => (
            <span key={tick} style={{ left: place(tick) }}>
              {texts[one]}
            </span>
          ))}
        </span>
        <span class="num">mean ± std</span>
      </div>
      <ul ref={list} role="listbox" aria-label="Layers by score" tabIndex={0} onKeyDown={(event) => store.stepLayer(event, layers, reveal)} aria-activedescendant={`ft-probe-${store.layerAt.value}`}>
        {layers.map((layer) => (
          <Row key={layer} layer={layer} probe={probes.get(layer)} isRunning={layer === at} {...{ ticks, place, chance }} />
        ))}
      </ul>
      {known !== null && (
        <p class="ft-key muted fs-1">
          <span>
            <i class="ft-dot mean" /> mean of the folds
          </span>
          <span>
            <i class="ft-dot fold" /> one fold
          </span>
          <span>
            <i class="ft-dash" /> chance, {threeDigits(known)}
          </span>
        </p>
      )}
    </div>
  );
}

interface RowProps {
  layer: number;
  probe: FeatureProbe | undefined;
  isRunning: boolean;
  ticks: readonly number[];
  place: (score: number) => string;
  chance: number | null;
}

function Row({ layer, probe, isRunning, ticks, place, chance }: RowProps) {
  const name = store.layers.value[layer]?.name ?? "";
  const said = saidOf(probe);
  const state = stateOf(probe, isRunning);
  return (
    <li
      id={`ft-probe-${layer}`}
      role="option"
      aria-selected={layer === store.layerAt.value}
      aria-label={`${name}: ${said === "" ? state : said}`}
      style={{ height: `${ROW}px` }}
      onClick={() => store.chooseLayer(layer)}
    >
      <span class="clip ft-name" title={name}>
        <bdi>{name}</bdi>
      </span>
      <span class="ft-track" aria-hidden="true">
        {ticks.map((tick) => (
          <i key={tick} class="ft-tick" style={{ left: place(tick) }} />
        ))}
        {chance !== null && <i class="ft-chance" style={{ left: place(chance) }} />}
        {probe !== undefined && said !== "" && <Scores probe={probe} place={place} />}
        {probe !== undefined && said === "" && (
          <span class="ft-state hint" title={state}>
            {state}
          </span>
        )}
      </span>
      <span class={said === "" ? "num muted" : "num"}>{probe === undefined ? state : said}</span>
    </li>
  );
}

/** Empty where there is no score. */
function saidOf(probe: FeatureProbe | undefined): string {
  return probe?.mean == null ? "" : `${threeDigits(probe.mean)} ± ${threeDigits(probe.std ?? 0)}`;
}

function stateOf(probe: FeatureProbe | undefined, isRunning: boolean): string {
  if (probe !== undefined) return probe.why;
  return isRunning ? "being probed" : "waiting";
}

function Scores({ probe, place }: { probe: FeatureProbe } & Pick<RowProps, "place">) {
  const there = probe.scores.filter((score) => score !== null);
  return (
    <>
      <i class="ft-spread" style={{ left: place(Math.min(...there)), right: `calc(100% - ${place(Math.max(...there))})` }} />
      {there.map((score, at) => (
        <i key={at} class="ft-dot fold" style={{ left: place(score) }} />
      ))}
      <i class="ft-dot mean" style={{ left: place(probe.mean ?? 0) }} />
    </>
  );
}

function threeDigits(value: number): string {
  return value.toFixed(3).replace("-", "\u2212");
}
