/** How alike layers are to one another: by RSA, the rank correlation of how they order pairs; or by linear CKA. */
import { formatCount } from "../../../data/format";
import { setParams } from "../../../data/route";
import { ColourScale } from "../../../plot/ColourScale";
import { type Scale, stepClass } from "../../../ui/colour-scale";
import { Segments } from "../../../ui/controls";
import { chosenScale } from "../choice";
import { singlesOf } from "../items";
import { MoreSamples, Work, WorkLine } from "./Work";
import { type Followed, useFollowed } from "./follow";
import * as store from "./store";
import { basisText } from "./words";

/** Each with every other; of more layers, so many, evenly chosen. */
const MOST_LAYERS = 64;
/** Numbers can be read in cells of this many layers. */
const MOST_NUMBERS = 12;
/** Names have room over columns of this many layers; those of more are told by their rows and by pointing. */
const MOST_HEADED = 32;

interface Compared {
  readonly layers: readonly number[];
  readonly values: Float32Array;
  readonly leftOut: Readonly<Record<string, string>>;
  readonly numSamples: number;
  readonly numDone: number;
  readonly note: string;
}

const WORDS: readonly (readonly [store.Comparison, string, string])[] = [
  ["rsa", "RSA", "Rank correlation of how two layers order all pairs of samples"],
  ["cka", "CKA", "Linear centred kernel alignment: 1 where two layers are alike up to rotation and size"],
];

/** Of both sides of nought only where there are both. */
export function scaleOfLayers(values: Float32Array): Scale {
  return values.some((value) => value < 0) ? { map: "div", low: -1, high: 1 } : { map: "seq", low: 0, high: 1 };
}

export function evenly(count: number, most: number): number[] {
  if (count <= most) return Array.from({ length: count }, (_, at) => at);
  return Array.from({ length: most }, (_, at) => Math.round((at * (count - 1)) / (most - 1)));
}

function useCompared(chosen: readonly number[]): Followed<Compared> {
  const [method, metric, most] = [store.comparison.value, store.metric.value, store.numSimilar.value];
  const done = store.listing.value?.num_done ?? 0;
  return useFollowed<Compared>(
    chosen.length < 2
      ? null
      : { type: "feature_layers", set_id: store.setId.value, layers: [...chosen], method, metric, most },
    (reply) => {
      const { answer } = reply;
      if (answer.type !== "feature_layers") throw new Error(`The server answered with ${answer.type}.`);
      const { progress, note, is_done: isDone, layers, left_out: leftOut, num_samples: numSamples } = answer;
      if (!isDone) return { value: null, progress, note, isDone };
      const values = singlesOf(reply, layers.length ** 2);
      return { value: { layers, values, leftOut, numSamples, numDone: done, note }, progress, note, isDone };
    },
  );
}

export function LayerMatrix() {
  const all = store.layers.value;
  const chosen = evenly(all.length, MOST_LAYERS);
  const asked = useCompared(chosen);
  const method = store.comparison.value;
  return (
    <section class="an-figure" aria-label="Layers compared" aria-busy={asked.progress !== null}>
      <header>
        <h3>Layers compared</h3>
        <Segments label="Compared by" words={WORDS} chosen={method} choose={(one) => setParams({ compare: one === "rsa" ? null : one })} />
        <span class="muted fs-1 clip">
          {asked.value !== null && asked.isOwn && basisText(asked.value.numSamples, asked.value.numDone)}
          {all.length > MOST_LAYERS && ` · ${MOST_LAYERS} of ${formatCount(all.length)} layers`}
        </span>
        <span class="grow" />
        <Aside of={asked} />
      </header>
      {chosen.length < 2 ? (
        <p class="muted fs-2">With a second layer there would be something to compare.</p>
      ) : asked.value !== null && asked.problem === "" ? (
        <Cells of={asked.value} method={method} isOld={!asked.isOwn} />
      ) : (
        <Work what="Comparing layers" of={asked} />
      )}
    </section>
  );
}

function Aside({ of }: { of: Followed<Compared> }) {
  if (of.value === null) return null;
  return of.isOwn ? <MoreSamples numThen={of.value.numDone} again={of.retry} /> : <WorkLine what="Comparing layers" of={of} />;
}

function Cells({ of, method, isOld }: { of: Compared; method: store.Comparison; isOld: boolean }) {
  const { scale, isAuto, set } = chosenScale(`features ${method}`, null, scaleOfLayers(of.values));
  const count = of.layers.length;
  const hasNumbers = count <= MOST_NUMBERS;
  const nameOf = (at: number): string => store.layers.value[at]?.name ?? "";
  const left = Object.entries(of.leftOut);
  return (
    <div class={isOld ? "ft-body old" : "ft-body"}>
      <div class="ft-cells">
        <table class={hasNumbers ? "an-cells numbers" : "an-cells"} aria-label={`Layers compared by ${method.toUpperCase()}`}>
          {count <= MOST_HEADED && (
            <thead>
              <tr>
                <td />
                {of.layers.map((layer) => (
                  <th key={layer} scope="col" title={nameOf(layer)} class={layer === store.layerAt.value ? "ft-upright on" : "ft-upright"}>
                    <span>
                      <bdi>{nameOf(layer)}</bdi>
                    </span>
                  </th>
                ))}
              </tr>
            </thead>
          )}
          <tbody>
            {of.layers.map((layer, row) => (
              <tr key={layer}>
                <th scope="row" title={nameOf(layer)} class={layer === store.layerAt.value ? "on" : ""}>
                  <span>
                    <bdi>{nameOf(layer)}</bdi>
                  </span>
                </th>
                {of.layers.map((other, column) => (
                  <CellButton
                    key={other}
                    value={of.values[row * count + column]!}
                    title={`${nameOf(layer)} and ${nameOf(other)}`}
                    isFirst={column === 0}
                    {...{ scale, hasNumbers }}
                    choose={() => store.chooseLayer(layer)}
                  />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="an-reading muted">{method === "rsa" ? "1: both layers order all pairs of samples in the same way." : "1: both layers are alike, up to rotation and size."} Click a row to see its layer.</p>
      <footer class="ft-foot">
        <div class="an-scale">
          <ColourScale scale={scale} isAuto={isAuto} onChange={set} />
        </div>
        {left.length > 0 && (
          <span class="muted fs-1" title={left.map(([name, why]) => `${name}: ${why}`).join("\n")}>
            {formatCount(left.length)} {left.length === 1 ? "layer is" : "layers are"} not compared: {left[0]![0]}: {left[0]![1]}
          </span>
        )}
        {of.note !== "" && <span class="muted fs-1">{of.note}</span>}
      </footer>
    </div>
  );
}

interface CellProps {
  value: number;
  title: string;
  scale: Scale;
  hasNumbers: boolean;
  isFirst: boolean;
  choose: () => void;
}

function CellButton({ value, title, scale, hasNumbers, isFirst, choose }: CellProps) {
  const text = Number.isNaN(value) ? "not defined" : hundredths(value);
  return (
    <td class={Number.isNaN(value) ? "none" : `cell ${stepClass(scale, value)}`}>
      <button title={`${title}: ${text}`} aria-label={`${title}: ${text}`} tabIndex={isFirst ? 0 : -1} onKeyDown={moveFocus} onClick={choose}>
        {hasNumbers && !Number.isNaN(value) ? text : ""}
      </button>
    </td>
  );
}

/** All alike, so that they line up: 0.95, 1.00. */
export function hundredths(value: number): string {
  return value.toFixed(2).replace(/^-(?!0\.00$)/, "\u2212").replace("-", "");
}

/** Arrows lead from cell to cell. */
function moveFocus(event: KeyboardEvent): void {
  const by = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
  const cell = (event.currentTarget as HTMLElement).closest("td");
  const row = cell?.closest("tr");
  if (by === undefined || cell == null || row == null) return;
  event.preventDefault();
  event.stopPropagation();
  const next = row.closest("table")!.rows[row.rowIndex + by[0]!]?.cells[cell.cellIndex + by[1]!];
  next?.querySelector("button")?.focus();
}
