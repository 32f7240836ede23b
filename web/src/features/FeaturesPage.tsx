/** Activations of a whole data set: layers and their values, similarities, probes, and the projector. */
import type { FunctionComponent } from "preact";
import { useEffect } from "preact/hooks";
import { sentence } from "../netview/wording";
import { DrawingOptions } from "../projector/ProjectorOptions";
import { addressOf } from "../route";
import { Blank } from "../shell/Blank";
import { Icon } from "../shell/Icon";
import { PanelPlace } from "../shell/PanelPlace";
import { panels, panelWidth, setPanel } from "../shell/panels";
import { Segments } from "../shell/Segments";
import * as page from "../store";
import "../netanalysis/netanalysis.css";
import "./features.css";
import { LayerList } from "./LayerList";
import { LayerTable } from "./LayerTable";
import { ProbesView } from "./ProbesView";
import { ProjectorView } from "./ProjectorView";
import { SetFacts } from "./SetFacts";
import { sets } from "./sets";
import { SimilarityView } from "./SimilarityView";
import * as store from "./store";
import { ValuesView } from "./ValuesView";

const WORDS: readonly (readonly [store.Sight, string, string])[] = [
  ["layers", "Layers", "All layers of the set"],
  ["values", "Values", "Samples by units of one layer"],
  ["similarity", "Similarity", "How alike samples are to a layer, and layers to one another"],
  ["probes", "Probes", "How well labels can be read from each layer"],
  ["projector", "Projector", "Samples as points"],
];

const VIEWS: Record<store.Sight, FunctionComponent> = {
  layers: LayerTable,
  values: ValuesView,
  similarity: SimilarityView,
  probes: ProbesView,
  projector: ProjectorView,
};

export function FeaturesPage() {
  const source = page.source.value;
  useEffect(() => (source === null ? undefined : store.followSet(source)), [source]);
  const { width } = panels.value;
  return (
    <main class={`main features ${width}`} style={{ "--left": `${panelWidth.value.left}px` }}>
      <h1 class="sr">Features</h1>
      <PanelPlace side="left">
        <aside class="panel" aria-label="Features and layers">
          {width !== "wide" && (
            <button class="btn quiet square hide" aria-label="Hide features and layers" onClick={() => setPanel("left", false)}>
              <Icon name="hideLeft" />
            </button>
          )}
          <SetFacts />
          <LayerList />
          {store.sight.value === "projector" && store.layer.value !== null && (
            <div class="ft-drawing">
              <DrawingOptions />
            </div>
          )}
        </aside>
      </PanelPlace>
      <section class="ft-stage" aria-label="Features" aria-busy={store.detail.value === null && store.failure.value === ""}>
        <Body />
      </section>
    </main>
  );
}

function Body() {
  if (sets.value?.length === 0) return <NoneYet />;
  if (store.failure.value !== "") return <Failed />;
  if (store.detail.value === null) return <Reading />;
  const View = VIEWS[store.sight.value];
  return (
    <>
      <div class="an-bar ft-bar" role="toolbar" aria-label="What is shown">
        <Segments label="What is shown" words={WORDS} chosen={store.sight.value} choose={store.chooseSight} />
      </div>
      <View key={`${store.setId.value} ${store.sight.value}`} />
    </>
  );
}

function NoneYet() {
  return (
    <Blank icon="frame" title="No features yet">
      <span>Store the activations of a whole data set; they show up here by themselves.</span>
      <pre>{'tl.extract(model, data, layers=["features.6", "classifier"], to="features/vgg")'}</pre>
    </Blank>
  );
}

function Failed() {
  const first = sets.value?.find(({ id }) => id !== store.setId.value);
  return (
    <Blank icon="warning" title="This set of features cannot be shown" isError>
      <span>{sentence(store.failure.value)}</span>
      <span class="row">
        <button class="btn" onClick={() => (store.attempt.value += 1)}>
          Try again
        </button>
        {first !== undefined && (
          <a class="btn" href={addressOf("features", { set: first.id, layer: null, unit: null, sample: null })}>
            Open {first.name}
          </a>
        )}
      </span>
    </Blank>
  );
}

function Reading() {
  return (
    <div class="blank late" aria-busy="true">
      <b>Reading the features</b>
      <div class="bar moving" role="progressbar" aria-label="Reading the features">
        <i />
      </div>
    </div>
  );
}
