/** Activations of a whole data set: layers and their values, similarities, probes, and the projector. */
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { isConnected, lastHeard } from "../../data/connection";
import { sets } from "../../data/feature-sets";
import { formatBytes, formatCount, formatNumberOf, formatShare } from "../../data/format";
import { sentence } from "../../data/network/words";
import { addressOf } from "../../data/route";
import * as page from "../../data/store";
import { Facts } from "../../plot/tensor/Facts";
import { DrawingOptions } from "../../stage3d/points/ProjectorOptions";
import { Blank, Busy, MovingBar, ShareBar } from "../../ui/Blank";
import { FilterField } from "../../ui/FilterField";
import { IconButton } from "../../ui/IconButton";
import { PanelPlace } from "../../ui/PanelPlace";
import { VirtualList } from "../../ui/VirtualList";
import { Segments } from "../../ui/controls";
import { panels, panelWidth, setPanel } from "../../ui/panels";
import { useRowsInView } from "../../ui/scroll";
import { formatAgo, now } from "../../ui/times";
import type { FeatureLayer, FeatureSetAnswer, FeatureSetListing } from "../../wire";
import { ProbesView } from "./ProbesView";
import { ProjectorView } from "./ProjectorView";
import { SampleSimilarity } from "./Similarity";
import { ValuesView } from "./ValuesView";
import * as store from "./features";
import { samplesText, shapeText } from "./features";
import "./analysis.css";
import "./features.css";

const ROW_HEIGHT = 36;
const HEAD_HEIGHT = 28;
const HEAD = [
  ["Layer", false],
  ["Op", false],
  ["Shape of a sample", true],
  ["Units", true],
  ["Type", false],
  ["Size", true],
  ["Transforms", false],
] as const;

/** All layers with what is to be known of each: shape, type, size, what was done to its values. */
function LayerTable() {
  const all = store.layers.value;
  const shown = filtered(all, filter.value);
  const box = useRef<HTMLDivElement>(null);
  const { first, end, reveal } = useRowsInView(box, shown.length, ROW_HEIGHT, HEAD_HEIGHT);
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
      <div class="ft-scroll" ref={box}>
        <table class="table ft-table" aria-label="Layers" aria-rowcount={shown.length + 1} tabIndex={0} onKeyDown={(event) => store.stepLayer(event, shown, reveal)}>
          <thead>
            <tr>
              {HEAD.map(([title, isNumber]) => (
                <th key={title} scope="col" class={isNumber ? "num" : ""}>
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {first > 0 && <tr class="gap" style={{ height: `${first * ROW_HEIGHT}px` }} />}
            {shown.slice(first, end).map((at) => (
              <Row key={at} at={at} layer={all[at]!} />
            ))}
            {end < shown.length && <tr class="gap" style={{ height: `${(shown.length - end) * ROW_HEIGHT}px` }} />}
          </tbody>
        </table>
      </div>
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

function Row({ at, layer }: { at: number; layer: FeatureLayer }) {
  const isChosen = at === store.layerAt.value;
  return (
    <tr
      aria-rowindex={at + 2}
      aria-selected={isChosen}
      onClick={() => store.chooseLayer(at)}
      onDblClick={() => store.chooseLayer(at, { see: "values" })}
    >
      <th scope="row" class="clip" title={layer.name}>
        {layer.name}
      </th>
      <td class="text clip" title={layer.address === "" ? layer.label : `${layer.label}, output of ${layer.address}`}>
        {layer.label}
      </td>
      <td title={layer.shape.map((size, dim) => `${layer.dims[dim] ?? "dimension"} ${size < 0 ? "varies" : formatCount(size)}`).join(", ")}>
        {shapeText(layer.shape)}
      </td>
      <td>{layer.num_units === 0 ? <span class="muted">varies</span> : formatCount(layer.num_units)}</td>
      <td class="text">{layer.dtype}</td>
      <td>{formatBytes(layer.num_bytes)}</td>
      <td class="text clip" title={layer.transforms.join(", ")}>
        {layer.transforms.length === 0 ? <span class="muted">none</span> : layer.transforms.join(", ")}
      </td>
    </tr>
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
  return (
    <>
      <div class="panel-head">
        <h2 class="clip" title={listing?.name}>
          {listing?.name ?? "Features"}
        </h2>
      </div>
      {listing !== null && (
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
          {detail !== null && <Notes notes={detail.notes} />}
        </div>
      )}
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

function Notes({ notes }: { notes: readonly string[] }) {
  if (notes.length === 0) return null;
  return (
    <details class="muted fs-1">
      <summary>{formatNumberOf(notes.length, "note")}</summary>
      {notes.map((note, at) => (
        <p key={at} class="wrap">
          {note}
        </p>
      ))}
    </details>
  );
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
      <div class="panel-head ft-rule">
        <h2>Layers</h2>
        <span class="muted fs-1">{shown.length < all.length ? `${formatCount(shown.length)} of ${formatCount(all.length)}` : ""}</span>
      </div>
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
