/** Which embedding, on which axes, and how its points are drawn. */
import { formatCount, formatShare } from "../../data/format";
import { param, setParams } from "../../data/route";
import { Segments } from "../../ui/controls";
import { isReduced } from "./reduction";
import * as store from "./store";

export function ProjectorOptions() {
  return (
    <>
      <section class="section" aria-label="Embedding">
        <h2>Embedding</h2>
        <PlaceSelect />
        <Facts />
      </section>
      <DrawingOptions />
    </>
  );
}

/** On which axes, and how: whatever the points come from. */
export function DrawingOptions() {
  return (
    <>
      <section class="section" aria-label="Reduction">
        <h2>Reduction</h2>
        <MethodSwitch />
        {store.method.value === "pca" || !isReduced() ? <Components /> : null}
        {store.method.value !== "pca" && <Neighbourhood />}
      </section>
      <section class="section" aria-label="Points">
        <h2>Points</h2>
        <LabelSelect />
        {store.loaded.value?.embedding.sprites != null && <SpriteSwitch />}
        <label class="check">
          <input
            type="checkbox"
            checked={store.isTable.value}
            onChange={(event) => (store.isTable.value = event.currentTarget.checked)}
          />
          Show as table
        </label>
      </section>
    </>
  );
}

function PlaceSelect() {
  const places = store.places.value;
  const now = store.place.value;
  const isOne = new Set(places.map((one) => one.runId)).size === 1;
  return (
    <select
      class="input wide"
      aria-label="Embedding"
      value={now === null ? "" : store.keyOf(now)}
      onChange={(event) => {
        const next = places.find((one) => store.keyOf(one) === event.currentTarget.value);
        if (next !== undefined) store.choosePlace(next);
      }}
    >
      {places.map((one) => (
        <option key={store.keyOf(one)} value={store.keyOf(one)}>
          {isOne ? one.name : `${one.name} · ${one.runName}`}
        </option>
      ))}
    </select>
  );
}

function Facts() {
  const here = store.loaded.value;
  if (here === null) return null;
  const { numPoints, numDims } = here.embedding;
  return (
    <p class="muted fs-1 projector-facts">
      {formatCount(numPoints)} points · {formatCount(numDims)} dimensions
    </p>
  );
}

function MethodSwitch() {
  const choose = (method: store.Method): void => {
    if (store.reducing.peek().state === "failed") store.reducing.value = { state: "idle" };
    setParams({ method: method === "pca" ? null : method, near: null });
  };
  return <Segments label="Method" words={store.METHODS} chosen={store.method.value} choose={choose} isWide />;
}

const AXIS_NAMES = ["X", "Y", "Z"];

/** Which component goes where, each with its share of the variance. */
function Components() {
  const found = store.coordinates.value;
  if (found?.method !== "pca") return null;
  const axes = store.axes.value;
  const total = axes.reduce((sum, axis) => sum + (found.shares[axis] ?? 0), 0);
  const choose = (at: number, axis: number): void =>
    setParams({ axes: axes.map((one, nth) => (nth === at ? axis : one)).join(",") });
  return (
    <div class="projector-fields">
      {axes.map((axis, at) => (
        <label key={at} class="projector-field">
          <span>{AXIS_NAMES[at]}</span>
          <select
            class="input sm"
            aria-label={`Component of ${AXIS_NAMES[at] ?? ""}`}
            value={axis}
            onChange={(event) => choose(at, Number(event.currentTarget.value))}
          >
            {Array.from({ length: found.perPoint }, (_, one) => (
              <option key={one} value={one}>
                PC {one + 1}
                {found.shares[one] === undefined ? "" : ` · ${formatShare(found.shares[one], 1)}`}
              </option>
            ))}
          </select>
        </label>
      ))}
      {found.shares.length > 0 && (
        <div class="projector-field">
          <span>Variance</span>
          <div class="row">
            <div class="bar grow" role="img" aria-label={`Variance explained: ${formatShare(total, 1)}`}>
              <i style={{ width: `${total * 100}%` }} />
            </div>
            <output>{formatShare(total, 1)}</output>
          </div>
        </div>
      )}
      {store.records.value.length > 1 && (
        <label class="check">
          <input
            type="checkbox"
            checked={store.holdAxes.value}
            onChange={(event) => (store.holdAxes.value = event.currentTarget.checked)}
          />
          Same axes at every step
        </label>
      )}
      {found.note !== "" && <p class="muted fs-1">{found.note}</p>}
    </div>
  );
}

/** What t-SNE and UMAP have to be told. */
function Neighbourhood() {
  const isTsne = store.method.value === "tsne";
  const name = isTsne ? "Perplexity" : "Neighbours";
  return (
    <div class="projector-fields">
      <label class="projector-field">
        <span>{name}</span>
        <input
          class="input sm num"
          type="number"
          aria-label={name}
          min={2}
          max={isTsne ? 200 : 500}
          value={store.neighbourhood.value}
          onChange={(event) => setParams({ near: event.currentTarget.value })}
        />
      </label>
      <MetricField />
      {store.coordinates.value?.method === store.method.value && store.coordinates.value.note !== "" && (
        <p class="muted fs-1">{store.coordinates.value.note}</p>
      )}
    </div>
  );
}

const METRICS = [
  ["euclidean", "Euclid"],
  ["cosine", "Cosine"],
] as const;

export function MetricField() {
  return (
    <div class="projector-field">
      <span>Distance</span>
      <Segments
        label="Distance"
        words={METRICS}
        chosen={store.metric.value}
        choose={(metric) => setParams({ metric: metric === "cosine" ? metric : null })}
        isWide
      />
    </div>
  );
}

function LabelSelect() {
  const columns = store.loaded.value?.embedding.columns ?? [];
  if (columns.length === 0) return <p class="muted fs-1">These points have no labels.</p>;
  return (
    <label class="projector-field">
      <span>Label</span>
      <select
        class="input sm"
        aria-label="Label by"
        value={param("label") === "-" ? "-" : (store.labelColumn.value ?? "-")}
        onChange={(event) => setParams({ label: event.currentTarget.value })}
      >
        <option value="-">none</option>
        {columns.map(({ name }) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

const SPRITE_MODES = [
  ["auto", "Auto", "When there is room for them"],
  ["on", "On"],
  ["off", "Off"],
] as const;

function SpriteSwitch() {
  return (
    <div class="projector-field">
      <span>Pictures</span>
      <Segments
        label="Pictures"
        words={SPRITE_MODES}
        chosen={store.spriteMode.value}
        choose={(mode) => (store.spriteMode.value = mode)}
        isWide
      />
    </div>
  );
}
