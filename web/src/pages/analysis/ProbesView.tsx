/** How well labels can be read from each layer: a row for each, its folds as points, chance as a line. */
import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { evenly } from "../../data/collections";
import { formatCount, formatNumberOf, formatShare } from "../../data/format";
import { CellTable } from "../../plot/CellTable";
import { axisOf, shareOf } from "../../plot/scale";
import { niceSpan } from "../../plot/ticks";
import { Blank } from "../../ui/Blank";
import { Check } from "../../ui/Check";
import { rangeOf, type Scale, stepClass } from "../../ui/colour-scale";
import { Segments } from "../../ui/controls";
import { useSize } from "../../ui/useSize";
import type { FeatureProbe } from "../../wire";
import { CountChoice, Figure, MoreSamples, Reading, Work } from "./Figure";
import { zoom } from "./choice";
import * as store from "./features";
import { basisText, type Followed, useFollowed } from "./features";

const MOST_LAYERS = 128;

interface Probed {
  readonly probes: ReadonlyMap<number, FeatureProbe>;
  /** The one that is being probed. */
  readonly at: number | null;
}

export function ProbesView() {
  if (store.detail.value?.label_kind !== "none") return <Probes />;
  return (
    <Blank icon="flask" title="There are no labels to read from the layers">
      <span>Extract from data that gives an input and a label for each sample; they are stored with the features.</span>
      <pre>{'tl.extract(model, TensorDataset(images, labels), layers=["features.6"], to="features/vgg")'}</pre>
    </Blank>
  );
}

function useProbes(layers: number[], kind: "ridge" | "logistic"): Followed<Probed> {
  const asked = { layers, kind, folds: store.numFolds.chosen, most: store.numProbed.chosen };
  return useFollowed("feature_probes", layers.length === 0 ? null : asked, ({ answer }, before: Probed | null) => {
    const probes = new Map(before?.probes);
    for (const probe of answer.probes) probes.set(probe.layer, probe);
    return { probes, at: answer.is_done ? null : (answer.at ?? before?.at ?? null) };
  });
}

function Probes() {
  const all = store.layers.value;
  const chosen = evenly(all.length, MOST_LAYERS);
  // Numbers have no classes.
  const isOfNumbers = store.detail.value?.label_kind === "numbers";
  const asked = useProbes(chosen, isOfNumbers ? "ridge" : store.probeKind.chosen);
  const value = asked.isOwn ? asked.value : null;
  return (
    <>
      <div class="ft-controls">
        {!isOfNumbers && <Segments label="Probe" {...store.probeKind} />}
        <CountChoice name="Samples" of={store.numProbed} />
        <CountChoice name="Folds" of={store.numFolds} all={Infinity} />
        <Check {...zoom}>Scores only</Check>
        <span class="grow" />
        {value !== null && <Work what={`Probing ${all[value.at ?? -1]?.name ?? ""}`.trim()} of={asked} isLine />}
        {value !== null && asked.progress === null && <MoreSamples of={asked} />}
      </div>
      {value === null ? <Work what="Probing" of={asked} /> : <Shown of={value} chosen={chosen} asked={asked} />}
    </>
  );
}

function Shown({ of, chosen, asked }: { of: Probed; chosen: number[]; asked: Followed<Probed> }) {
  const first = [...of.probes.values()].find(({ why }) => why === "");
  const numAll = store.layers.value.length;
  const probe = of.probes.get(store.layerAt.value);
  const facts = [
    ...(first === undefined ? [] : [first.kind, `${store.numFolds.chosen} folds`, basisText(first.num_samples, asked.numThen)]),
    ...(numAll > chosen.length ? [`${MOST_LAYERS} of ${formatCount(numAll)} layers`] : []),
  ];
  return (
    <div class="ft-two ft-probes">
      <Figure label="Probes" name={first?.metric === "r2" ? "R² by layer" : "Accuracy by layer"} isBusy={asked.progress !== null} facts={facts.join(" · ")}>
        <ProbeChart of={of} layers={chosen} />
      </Figure>
      <Figure
        label="Confusions"
        name={store.layer.value?.name ?? ""}
        isBusy={false}
        look="ft-confusion"
        facts={probe?.why === "" && probe.metric === "accuracy" && "right label down, what was said across"}
      >
        {probe !== undefined && probe.confusion.length > 0 ? <Counts probe={probe} /> : <Instead probe={probe} />}
      </Figure>
    </div>
  );
}

/** Numbers can be read in cells of this many labels. */
const MOST_NUMBERS = 16;

function Instead({ probe }: { probe: FeatureProbe | undefined }) {
  if (probe !== undefined && probe.why !== "") return <p class="hint">{probe.why}</p>;
  const whole = `R² is the share of the variance of the labels that is read from ${formatNumberOf(probe?.num_units ?? 0, "unit")}: 1 is all, 0 is no more than their mean.`;
  const text = probe?.metric === "r2" ? whole : "There are too many labels for a table of confusions.";
  return <p class="muted fs-2">{probe === undefined ? "Not probed yet." : text}</p>;
}

function Counts({ probe: { labels, confusion, num_units: numUnits } }: { probe: FeatureProbe }) {
  const [at, setAt] = useState<readonly [number, number] | null>(null);
  const totals = useMemo(() => confusion.map(sumOf), [confusion]);
  const wrong = confusion.flatMap((row, right) => row.filter((_, said) => said !== right));
  // Confusions are few beside what is right: these have a scale of their own.
  const scale: Scale = { map: "seq", low: 0, high: Math.max(1, rangeOf(wrong)?.max ?? 1) };
  const numRight = sumOf(confusion.map((row, right) => row[right]!));
  const all = sumOf(totals);
  const cell = (right: number, said: number) => {
    const count = confusion[right]![said]!;
    return {
      look: right === said ? "ft-right" : count === 0 ? "ft-zero" : `cell ${stepClass(scale, count)}`,
      title: `${labels[right]!} taken for ${labels[said]!}: ${formatCount(count)} of ${formatCount(totals[right]!)}`,
      text: count > 0 || right === said ? formatCount(count) : "",
    };
  };
  return (
    <>
      <div class="ft-cells">
        <CellTable label="Confusions" rows={labels} head="across" hasNumbers={labels.length <= MOST_NUMBERS} cell={cell} onPoint={setAt} look="ft-square" />
      </div>
      <Reading
        hint={`${formatCount(numRight)} of ${formatCount(all)} right (${formatShare(numRight, all)}), from ${formatNumberOf(numUnits, "unit")}`}
        parts={at && ["", cell(...at).title]}
      />
    </>
  );
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0);
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

function ProbeChart({ of: { probes, at }, layers }: { of: Probed; layers: readonly number[] }) {
  const [box, room] = useSize<HTMLDivElement>();
  const list = useRef<HTMLUListElement>(null);
  const axis = axisOf(spanOf(probes.values(), zoom.isOn), room.width < 320 ? 3 : 5);
  const place = (score: number): string => `${100 * shareOf(axis, Math.max(axis.low, score))}%`;
  const known = [...probes.values()].find(({ chance }) => chance !== null)?.chance ?? null;
  const lines = (
    <>
      {axis.ticks.map(({ value }) => (
        <i key={value} class="ft-tick" style={{ left: place(value) }} />
      ))}
      {known !== null && known >= axis.low && known <= axis.high && <i class="ft-chance" style={{ left: place(known) }} />}
    </>
  );
  const reveal = (row: number): void => list.current?.children[row]?.scrollIntoView({ block: "nearest" });
  return (
    <div class="ft-chart" ref={box}>
      <div class="ft-chart-axis" aria-hidden="true">
        <span />
        <span class="ft-track">
          {axis.ticks.map(({ value, label }) => (
            <span key={value} style={{ left: place(value) }}>
              {label}
            </span>
          ))}
        </span>
        <span class="num">mean ± std</span>
      </div>
      <ul ref={list} role="listbox" aria-label="Layers by score" tabIndex={0} onKeyDown={(event) => store.stepLayer(event, layers, reveal)} aria-activedescendant={`ft-probe-${store.layerAt.value}`}>
        {layers.map((layer) => (
          <Row key={layer} layer={layer} probe={probes.get(layer)} waiting={layer === at ? "being probed" : "waiting"} place={place} lines={lines} />
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
  waiting: string;
  place: (score: number) => string;
  lines: ComponentChildren;
}

function Row({ layer, probe, waiting, place, lines }: RowProps) {
  const name = store.layers.value[layer]?.name ?? "";
  const score = scoreOf(probe);
  const said = score ?? probe?.why ?? waiting;
  return (
    <li
      id={`ft-probe-${layer}`}
      role="option"
      aria-selected={layer === store.layerAt.value}
      aria-label={`${name}: ${said}`}
      onClick={() => store.chooseLayer(layer)}
    >
      <span class="clip ft-name" title={name}>
        <bdi>{name}</bdi>
      </span>
      <span class="ft-track" aria-hidden="true">
        {lines}
        {probe !== undefined && score === null && (
          <span class="ft-state hint" title={said}>
            {said}
          </span>
        )}
        {score !== null && <Scores probe={probe!} place={place} />}
      </span>
      <span class={score === null ? "num muted" : "num"}>{score ?? (probe === undefined && waiting)}</span>
    </li>
  );
}

/** Null where there is none. */
function scoreOf(probe: FeatureProbe | undefined): string | null {
  return probe?.mean == null ? null : `${threeDigits(probe.mean)} ± ${threeDigits(probe.std ?? 0)}`;
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
