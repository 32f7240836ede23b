/** Which embedding, on which axes, and how its points are drawn. */
import { formatCount, formatShare } from "../../data/format";
import { setParams } from "../../data/route";
import { Check } from "../../ui/Check";
import { Select } from "../../ui/Select";
import { Segments } from "../../ui/controls";
import { isReduced } from "./reduction";
import * as store from "./store";

export function ProjectorOptions() {
  const embedding = store.loaded.value?.embedding;
  const places = store.places.value;
  const now = store.place.value;
  const isOne = new Set(places.map(({ runId }) => runId)).size === 1;
  return (
    <>
      <section class="section" aria-label="Embedding">
        <h2>Embedding</h2>
        <Select
          look="input wide"
          label="Embedding"
          value={now === null ? "" : store.keyOf(now)}
          options={places.map((one) => [store.keyOf(one), isOne ? one.name : `${one.name} · ${one.runName}`])}
          set={(key) => store.choosePlace(places.find((one) => store.keyOf(one) === key)!)}
        />
        {embedding !== undefined && (
          <p class="muted fs-1 projector-facts">
            {formatCount(embedding.numPoints)} points · {formatCount(embedding.numDims)} dimensions
          </p>
        )}
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
        <Segments label="Method" {...store.method} choose={chooseMethod} isWide />
        {store.method.chosen === "pca" || !isReduced() ? <Components /> : null}
        {store.method.chosen !== "pca" && <Neighbourhood />}
      </section>
      <section class="section" aria-label="Points">
        <h2>Points</h2>
        <LabelSelect />
        {store.loaded.value?.embedding.sprites != null && (
          <OneOf label="Pictures" words={SPRITE_MODES} chosen={store.spriteMode.value} choose={(mode) => (store.spriteMode.value = mode)} />
        )}
        <Check isOn={store.isTable.value} set={(isOn) => (store.isTable.value = isOn)}>
          Show as table
        </Check>
      </section>
    </>
  );
}

function chooseMethod(method: store.Method): void {
  if (store.reducing.peek().state === "failed") store.reducing.value = { state: "idle" };
  setParams({ method: method === "pca" ? null : method, near: null });
}

const AXIS_NAMES = ["X", "Y", "Z"];

/** Which component goes where, each with its share of the variance. */
function Components() {
  const found = store.coordinates.value;
  if (found?.method !== "pca") return null;
  const axes = store.axes.value;
  const total = axes.reduce((sum, axis) => sum + (found.shares[axis] ?? 0), 0);
  const componentName = (one: number): string => {
    const share = found.shares[one];
    return share === undefined ? `PC ${one + 1}` : `PC ${one + 1} · ${formatShare(share, 1)}`;
  };
  const choose = (at: number, axis: number): void =>
    setParams({ axes: axes.map((one, nth) => (nth === at ? axis : one)).join(",") });
  return (
    <div class="projector-fields">
      {axes.map((axis, at) => (
        <label key={at} class="projector-field">
          <span>{AXIS_NAMES[at]}</span>
          <Select
            look="input sm"
            label={`Component of ${AXIS_NAMES[at] ?? ""}`}
            value={String(axis)}
            options={Array.from({ length: found.perPoint }, (_, one) => [String(one), componentName(one)])}
            set={(one) => choose(at, Number(one))}
          />
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
        <Check isOn={store.holdAxes.value} set={(isOn) => (store.holdAxes.value = isOn)}>
          Same axes at every step
        </Check>
      )}
      {found.note !== "" && <p class="muted fs-1">{found.note}</p>}
    </div>
  );
}

function Neighbourhood() {
  const isTsne = store.method.chosen === "tsne";
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
      {store.coordinates.value?.method === store.method.chosen && store.coordinates.value.note !== "" && (
        <p class="muted fs-1">{store.coordinates.value.note}</p>
      )}
    </div>
  );
}

/** Several ways of which one holds, with their name at the left. */
function OneOf<Word extends string>({ label, ...rest }: Omit<Parameters<typeof Segments<Word>>[0], "isWide">) {
  return (
    <div class="projector-field">
      <span>{label}</span>
      <Segments label={label} {...rest} isWide />
    </div>
  );
}

export function MetricField() {
  return <OneOf label="Distance" {...store.metric} />;
}

function LabelSelect() {
  const columns = store.loaded.value?.embedding.columns ?? [];
  if (columns.length === 0) return <p class="muted fs-1">These points have no labels.</p>;
  return (
    <label class="projector-field">
      <span>Label</span>
      <Select
        look="input sm"
        label="Label by"
        value={store.labelColumn.value ?? "-"}
        options={[["-", "none"], ...columns.map(({ name }) => [name, name] as const)]}
        set={(name) => setParams({ label: name })}
      />
    </label>
  );
}

const SPRITE_MODES = [
  ["auto", "Auto", "When there is room for them"],
  ["on", "On"],
  ["off", "Off"],
] as const;
