/** How alike layers are to one another: by RSA, the rank correlation of how they order pairs; or by linear CKA. */
import { formatCount } from "../../../data/format";
import { setParams } from "../../../data/route";
import { CellTable, likenessCell } from "../../../plot/CellTable";
import { ColourScale } from "../../../plot/ColourScale";
import type { Scale } from "../../../ui/colour-scale";
import { Segments } from "../../../ui/controls";
import type { FeatureLayersAnswer } from "../../../wire";
import { Figure, LeftOut } from "../Figure";
import { chosenScale } from "../choice";
import { singlesOf } from "../items";
import { WorkFigure } from "./Work";
import { useFollowed } from "./follow";
import * as store from "./store";
import { basisText } from "./words";

/** Each with every other; of more layers, so many, evenly chosen. */
const MOST_LAYERS = 64;
/** Numbers can be read in cells of this many layers. */
const MOST_NUMBERS = 12;
/** Names have room over columns of this many layers; those of more are told by their rows and by pointing. */
const MOST_HEADED = 32;

interface Compared {
  readonly head: FeatureLayersAnswer;
  readonly values: Float32Array;
  readonly numDone: number;
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

export function LayerMatrix() {
  const numAll = store.layers.value.length;
  const layers = evenly(numAll, MOST_LAYERS);
  const [method, numDone] = [store.comparison.value, store.listing.value?.num_done ?? 0];
  const asked = { set_id: store.setId.value, layers, method, metric: store.metric.value, most: store.numSimilar.value };
  const found = useFollowed("feature_layers", layers.length < 2 ? null : asked, (reply): Compared | null =>
    reply.answer.is_done ? { head: reply.answer, values: singlesOf(reply, reply.answer.layers.length ** 2), numDone } : null,
  );
  if (layers.length < 2) {
    return (
      <Figure label="Layers compared" name="Layers compared" isBusy={false}>
        <p class="muted fs-2">With a second layer there would be something to compare.</p>
      </Figure>
    );
  }
  return (
    <WorkFigure
      label="Layers compared"
      name="Layers compared"
      what="Comparing layers"
      of={found}
      numThen={found.value?.numDone ?? 0}
      controls={<Segments label="Compared by" words={WORDS} chosen={method} choose={(one) => setParams({ compare: one === "rsa" ? null : one })} />}
      facts={({ head }) => `${basisText(head.num_samples, found.value!.numDone)}${numAll > MOST_LAYERS ? ` · ${MOST_LAYERS} of ${formatCount(numAll)} layers` : ""}`}
      draw={(value) => <Cells of={value} method={method} />}
    />
  );
}

function Cells({ of: { head, values }, method }: { of: Compared; method: store.Comparison }) {
  const scale = chosenScale(`features ${method}`, null, scaleOfLayers(values));
  const names = head.layers.map((at) => store.layers.value[at]?.name ?? "");
  return (
    <>
      <div class="ft-cells">
        <CellTable
          label={`Layers compared by ${method.toUpperCase()}`}
          rows={names}
          isOn={(at) => head.layers[at] === store.layerAt.value}
          {...(names.length <= MOST_HEADED ? { head: "upright" } : {})}
          hasNumbers={names.length <= MOST_NUMBERS}
          cell={likenessCell(names, values, scale.scale)}
          onChoose={(row) => store.chooseLayer(head.layers[row]!)}
        />
      </div>
      <p class="an-reading muted">{method === "rsa" ? "1: both layers order all pairs of samples in the same way." : "1: both layers are alike, up to rotation and size."} Click a row to see its layer.</p>
      <footer class="ft-foot">
        <div class="an-scale">
          <ColourScale {...scale} />
        </div>
        <LeftOut of={Object.entries(head.left_out)} />
        {head.note !== "" && <span class="muted fs-1">{head.note}</span>}
      </footer>
    </>
  );
}
