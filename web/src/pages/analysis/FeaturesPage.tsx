/** Activations of a whole data set: layers and their values, similarities, probes, and the projector. */
import { batch, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { isConnected, lastHeard } from "../../data/connection";
import { sets } from "../../data/feature-sets";
import { formatBytes, formatCount, formatNumberOf, formatShare } from "../../data/format";
import { sentence } from "../../data/network/words";
import { addressOf } from "../../data/route";
import * as page from "../../data/store";
import { Facts } from "../../plot/tensor/Facts";
import { DrawingOptions } from "../../stage3d/points/PointsPanel";
import { Projector } from "../../stage3d/points/Stage";
import { type Embedding, readEmbedding, showEmbedding, startReducing } from "../../stage3d/points/embedding";
import * as projector from "../../stage3d/points/store";
import { Blank, Busy, MovingBar, ShareBar } from "../../ui/Blank";
import { FilterField } from "../../ui/FilterField";
import { IconButton } from "../../ui/IconButton";
import { PanelHead } from "../../ui/PanelHead";
import { PanelPlace } from "../../ui/PanelPlace";
import { type Column, RowTable } from "../../ui/RowTable";
import { VirtualList } from "../../ui/VirtualList";
import { Segments } from "../../ui/controls";
import { panels, panelWidth, setPanel } from "../../ui/panels";
import { formatAgo, now } from "../../ui/times";
import type { FeatureLayer, FeatureSetAnswer, FeatureSetListing } from "../../wire";
import { CountChoice, MoreSamples, Work } from "./Figure";
import { ProbesView } from "./ProbesView";
import { SampleSimilarity } from "./Similarity";
import { ValuesView } from "./ValuesView";
import { basisText, samplesText, shapeText, useFollowed } from "./features";
import * as store from "./features";
import "./analysis.css";
import "./features.css";

// --- All layers with what is to be known of each: shape, type, size, what was done to its values.

const NONE = <span class="muted">none</span>;

const COLUMNS: readonly Column<FeatureLayer>[] = [
  { title: "Layer", look: "text clip", isHead: true, text: ({ name }) => name, hint: ({ name }) => name },
  {
    title: "Op",
    look: "text clip",
    text: ({ label }) => label,
    hint: ({ label, address }) => (address === "" ? label : `${label}, output of ${address}`),
  },
  {
    title: "Shape of a sample",
    text: ({ shape }) => shapeText(shape),
    hint: ({ shape, dims }) => shape.map((size, dim) => `${dims[dim] ?? "dimension"} ${size < 0 ? "varies" : formatCount(size)}`).join(", "),
  },
  { title: "Units", text: ({ num_units: count }) => (count === 0 ? <span class="muted">varies</span> : formatCount(count)) },
  { title: "Type", look: "text", text: ({ dtype }) => dtype },
  { title: "Size", text: (layer) => formatBytes(layer.num_bytes) },
  {
    title: "Transforms",
    look: "text clip",
    text: ({ transforms }) => transforms.join(", ") || NONE,
    hint: ({ transforms }) => transforms.join(", "),
  },
];

/** All layers with what is to be known of each: shape, type, size, what was done to its values. */
function LayerTable() {
  const all = store.layers.value;
  const shown = filtered(all, filter.value);
  if (all.length === 0) {
    return (
      <Blank icon="tree" title="This set has no layers">
        <span>Name some when you extract it: layers=["features.6"].</span>
      </Blank>
    );
  }
  const total = all.reduce((sum, { num_bytes: bytes }) => sum + bytes, 0);
  return (
    <>
      <RowTable
        label="Layers"
        look="ft-table"
        rows={shown.map((at) => all[at]!)}
        rowHeight={36}
        headHeight={28}
        columns={COLUMNS}
        rowProps={(_, row) => ({
          "aria-selected": shown[row] === store.layerAt.value,
          onClick: () => store.chooseLayer(shown[row]!),
          onDblClick: () => store.chooseLayer(shown[row]!, { see: "values" }),
        })}
        active={shown.indexOf(store.layerAt.value)}
        goTo={(row) => store.chooseLayer(shown[row]!)}
        keys={{ Enter: () => store.sight.choose("values") }}
      />
      <p class="foot">
        <span>
          {formatNumberOf(all.length, "layer")}, {formatBytes(total)} of values in all
          {shown.length < all.length && `; the filter leaves ${formatCount(shown.length)}`}
        </span>
        <span class="grow" />
        <span class="foot-keys" aria-hidden="true">
          <span>
            <kbd>↑</kbd> <kbd>↓</kbd> move
          </span>
          <span>
            <kbd>↵</kbd> values
          </span>
        </span>
      </p>
    </>
  );
}

const VIEWS = {
  layers: LayerTable,
  values: ValuesView,
  similarity: SampleSimilarity,
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
            <IconButton look="btn quiet square hide" icon="hideLeft" label="Hide features and layers" onClick={() => setPanel("left", false)} />
          )}
          <SetFacts />
          <LayerList />
          {store.sight.chosen === "projector" && store.layer.value !== null && (
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
  if (store.detail.value === null) return <Busy title="Reading the features" />;
  const View = VIEWS[store.sight.chosen];
  return (
    <>
      <div class="an-bar ft-bar" role="toolbar" aria-label="What is shown">
        <Segments label="What is shown" {...store.sight} />
      </div>
      <View key={`${store.setId.value} ${store.sight.chosen}`} />
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

/** What the set is: of which model and data, how much of it is there. */
function SetFacts() {
  const listing = store.listing.value;
  const detail = store.detail.value;
  if (listing === null) return <PanelHead title="Features" />;
  return (
    <>
      <PanelHead title={listing.name} />
      <div class="pad-s ft-facts">
        {!listing.is_complete && listing.note === "" && <Progress listing={listing} />}
        <Facts
          facts={[
            listing.model !== "" && ["Model", listing.model],
            listing.data !== "" && ["Data", listing.data],
            ["Samples", samplesText(listing)],
            detail !== null && ["Labels", labelsText(detail)],
            ["Layers", formatCount(listing.num_layers)],
            [
              "On disk",
              <>
                {formatBytes(listing.num_bytes)} <span class="muted">{listing.storage}</span>
              </>,
            ],
          ]}
        />
        {detail !== null && detail.notes.length > 0 && (
          <details class="muted fs-1">
            <summary>{formatNumberOf(detail.notes.length, "note")}</summary>
            {detail.notes.map((note, at) => (
              <p key={at} class="wrap">
                {note}
              </p>
            ))}
          </details>
        )}
      </div>
    </>
  );
}

const EXTRACTED = "Samples that are extracted";

/** Live: an extraction that goes on, or one that was left. */
function Progress({ listing }: { listing: FeatureSetListing }) {
  const { num_done: done, num_samples: all, updated } = listing;
  const share = all === null || all === 0 ? null : done / all;
  const when = isConnected.value ? now.value : (lastHeard.value ?? now.value);
  return (
    <div class="ft-progress" role="status" aria-live="off">
      {share === null ? <MovingBar label={EXTRACTED} /> : <ShareBar label={EXTRACTED} now={Math.round(100 * share)} most={100} />}
      <span>
        {share === null ? "Extracting" : `${formatShare(done, all ?? 1)} extracted`}
        {updated > 0 && <span class="muted"> · last batch {formatAgo(updated, when)}</span>}
      </span>
    </div>
  );
}

function labelsText({ label_kind: kind, num_labels: count }: FeatureSetAnswer): string {
  if (kind === "none") return "none";
  return kind === "classes" ? formatNumberOf(count, "class", "classes") : "numbers";
}

// --- The layers, to choose one from: the same for all pictures.

const LIST = "ft-layers";

const filter = signal("");

/** The numbers of the layers that the filter leaves. */
export function filtered(all: readonly FeatureLayer[], text: string): number[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const isIn = ({ name, label, address }: FeatureLayer): boolean =>
    words.every((word) => `${name} ${label} ${address}`.toLowerCase().includes(word));
  return all.flatMap((layer, at) => (isIn(layer) ? [at] : []));
}

function LayerList() {
  const all = store.layers.value;
  const shown = filtered(all, filter.value);
  const place = shown.indexOf(store.layerAt.value);
  const more = (store.detail.value?.num_layers ?? 0) - all.length;
  return (
    <>
      <PanelHead title="Layers" look="rule-t" remark={shown.length < all.length && `${formatCount(shown.length)} of ${formatCount(all.length)}`} />
      {all.length > 8 && (
        <div class="pad-s">
          <FilterField
            label="Filter layers"
            placeholder="Filter layers"
            value={filter.value}
            onChange={(text) => (filter.value = text)}
            onLeave={() => document.getElementById(LIST)?.focus()}
          />
        </div>
      )}
      {all.length > 0 && shown.length === 0 && <p class="pad-s muted fs-2">No layer has “{filter.value}” in its name.</p>}
      <VirtualList
        id={LIST}
        label="Layers"
        role="listbox"
        count={shown.length}
        active={place}
        activeId={place >= 0 ? `ft-layer-${store.layerAt.value}` : undefined}
        onKeyDown={(event) => store.stepLayer(event, shown)}
        renderRow={(row) => <LayerListRow at={shown[row]!} layer={all[shown[row]!]!} />}
      />
      {more > 0 && <p class="pad-s muted fs-1">{formatCount(more)} more are not listed.</p>}
    </>
  );
}

function LayerListRow({ at, layer }: { at: number; layer: FeatureLayer }) {
  const isChosen = at === store.layerAt.value;
  return (
    <div
      id={`ft-layer-${at}`}
      role="option"
      aria-selected={isChosen}
      class={isChosen ? "tree-row cursor" : "tree-row"}
      title={layer.label === "" ? layer.name : `${layer.name} · ${layer.label}`}
      onClick={() => store.chooseLayer(at)}
    >
      <span class="name clip ft-name">
        <bdi>{layer.name}</bdi>
      </span>
      <span class="type clip">{shapeText(layer.shape)}</span>
    </div>
  );
}

// --- Samples of a layer as points: the projector, with labels as colours.

interface Points {
  readonly embedding: Embedding;
  readonly note: string;
}

/** Give the points to the projector, for as long as they are shown here. */
function useProjector(points: Points | null, numThen: number): void {
  const source = page.source.value;
  useEffect(() => {
    if (source === null) return undefined;
    // What another page has shown is not shown here.
    forget();
    const stop = startReducing(source);
    return () => {
      stop();
      forget();
    };
  }, [source]);
  useEffect(() => {
    const layer = store.layer.peek();
    if (points === null || layer === null) return;
    const asked = { set_id: store.setId.peek(), layer: store.layerAt.peek(), most: store.numPoints.chosen };
    showEmbedding({
      place: { runId: asked.set_id, runName: store.listing.peek()?.name ?? "", name: layer.name },
      record: JSON.stringify([asked.layer, asked.most, points.embedding.numPoints, numThen]),
      step: null,
      embedding: points.embedding,
      reduceAs: (how) => ({ type: "feature_reduce", ...asked, ...how }),
    });
  }, [points]);
}

function ProjectorView() {
  const [layer, at] = [store.layer.value, store.layerAt.value];
  const about = at < 0 ? null : { layer: at, most: store.numPoints.chosen };
  const asked = useFollowed("feature_points", about, ({ answer: { head, note }, buffer, offset }): Points | null =>
    head === null ? null : { embedding: readEmbedding(head, buffer, offset), note },
  );
  const points = asked.isOwn ? asked.value : null;
  useProjector(points, asked.numThen);
  const isThere = projector.loaded.value !== null;
  return (
    <>
      <div class="ft-controls">
        <CountChoice name="Samples" of={store.numPoints} />
        {points !== null && layer !== null && (
          <span class="muted fs-1 clip" title={points.note}>
            {layer.name} · {basisText(points.embedding.numPoints, asked.numThen)}
            {points.note === "" ? ` · ${formatCount(layer.num_units)} units` : `. ${points.note}`}
          </span>
        )}
        <span class="grow" />
        {isThere && points === null && <Work what="Reading the samples" of={asked} isLine />}
        {points !== null && <MoreSamples of={asked} />}
      </div>
      {isThere && asked.problem === "" ? <Projector look="ft-projector" /> : <Work what="Reading the samples" of={asked} />}
    </>
  );
}

function forget(): void {
  batch(() => {
    projector.loaded.value = null;
    projector.coordinates.value = null;
    projector.list.value = null;
    projector.failure.value = null;
    projector.reducing.value = null;
  });
}
