/** How well labels can be read from each layer: a row for each, its folds as points, chance as a line. */
import { formatCount } from "../format";
import { setParams } from "../route";
import { Blank } from "../shell/Blank";
import { Segments } from "../shell/Segments";
import type { FeatureProbe } from "../wire";
import { Choice } from "./Choice";
import { Confusion } from "./Confusion";
import { useFollowed, type Followed } from "./following";
import { evenly } from "./LayerMatrix";
import { MoreSamples } from "./MoreSamples";
import { ProbeChart } from "./ProbeChart";
import * as store from "./store";
import { basisText } from "./wording";
import { Work, WorkLine } from "./Work";

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

function useProbes(chosen: readonly number[], kind: store.ProbeKind): Followed<Probed> {
  const done = store.listing.value?.num_done ?? 0;
  const options = { folds: store.numFolds.value, most: store.numProbed.value };
  return useFollowed<Probed>(
    chosen.length === 0
      ? null
      : { type: "feature_probes", set_id: store.setId.value, layers: [...chosen], kind, ...options },
    ({ answer }, before) => {
      if (answer.type !== "feature_probes") throw new Error(`The server answered with ${answer.type}.`);
      const probes = new Map(before?.probes);
      for (const probe of answer.probes) probes.set(probe.layer, probe);
      const value = { probes, at: answer.is_done ? null : (answer.at ?? before?.at ?? null), numDone: before?.numDone ?? done };
      return { value, progress: answer.progress, note: answer.note, isDone: answer.is_done };
    },
  );
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
        <Choice
          name="Samples"
          param="probed"
          value={store.numProbed.value}
          usual={2000}
          choices={store.PROBED_SAMPLES}
          all={store.listing.value?.num_done ?? 0}
        />
        <Choice name="Folds" param="folds" value={store.numFolds.value} usual={5} choices={store.FOLDS} />
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

function Shown({ of: { probes, at, numDone }, chosen, isBusy }: { of: Probed; chosen: readonly number[]; isBusy: boolean }) {
  const first = [...probes.values()].find(({ why }) => why === "");
  const numAll = store.layers.value.length;
  return (
    <div class="ft-two ft-probes">
      <section class="an-figure" aria-label="Probes" aria-busy={isBusy}>
        <header>
          <h3>{first?.metric === "r2" ? "R² by layer" : "Accuracy by layer"}</h3>
          <span class="muted fs-1 clip">
            {first !== undefined && `${first.kind} · ${store.numFolds.value} folds · ${basisText(first.num_samples, numDone)}`}
            {numAll > chosen.length && ` · ${MOST_LAYERS} of ${formatCount(numAll)} layers`}
          </span>
        </header>
        <ProbeChart probes={probes} layers={chosen} at={at} />
      </section>
      <Confusion probe={probes.get(store.layerAt.value)} />
    </div>
  );
}

function workOf({ at }: Probed, all: readonly { name: string }[]): string {
  const name = at === null ? undefined : all[at]?.name;
  return name === undefined ? "Probing" : `Probing ${name}`;
}
