/** Which sets of features there are: in the top bar to choose one, and on the page of runs as a list. */
import { sets } from "../../data/feature-sets";
import { formatBytes, formatCount, formatNumberOf } from "../../data/format";
import { addressOf, setParams } from "../../data/route";
import { ShareBar } from "../../ui/Blank";
import { PanelHead } from "../../ui/PanelHead";
import { Picker } from "../../ui/Picker";
import type { FeatureSetListing } from "../../wire";
import { listing, samplesText, setId } from "./features";
import "./features.css";

/** What was seen of one set says nothing about another. */
const NO_PLACE = { layer: null, unit: null, sample: null, point: null, selection: null, run: null, embedding: null, cam: null, made: null };

export function FeaturePicker() {
  const all = sets.value ?? [];
  const now = listing.value;
  if (all.length === 0) return null;
  return (
    <Picker
      label="Sets of features"
      options={() =>
        all.map((one) => {
          const detail = one.note === "" ? `${formatNumberOf(one.num_layers, "layer")}, ${samplesText(one)} samples` : "cannot be read";
          return { id: one.id, name: one.name, detail, isMuted: one.note !== "" };
        })
      }
      chosen={setId.value}
      choose={(id) => {
        if (id !== setId.peek()) setParams({ ...NO_PLACE, set: id });
      }}
      alone={all.length === 1 && now !== null ? "" : undefined}
    >
      <span class="clip">{now?.name ?? "Choose a set of features"}</span>
      {now !== null && <span class="muted clip ft-model">{now.model}</span>}
    </Picker>
  );
}

const MOST = 50;

export function FeatureSetsPart() {
  const all = sets.value ?? [];
  if (all.length === 0) return null;
  return (
    <section class="feature-sets" aria-label="Features">
      <PanelHead title="Features" remark="activations of whole data sets" />
      <div class="feature-sets-body">
        <table class="table">
          <thead>
            <tr>
              {["Name", "Model", "Layers", "Samples", "Size"].map((title, at) => (
                <th key={title} scope="col" class={at < 2 ? "" : "num"}>
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {all.slice(0, MOST).map((one) => (
              <Row key={one.id} of={one} />
            ))}
          </tbody>
        </table>
        {all.length > MOST && <p class="pad-s muted fs-1">{formatCount(all.length - MOST)} more: the page Features lists them all.</p>}
      </div>
    </section>
  );
}

function Row({ of }: { of: FeatureSetListing }) {
  return (
    <tr>
      <th scope="row" class="clip">
        <a href={addressOf("features", { set: of.id })} title={of.name}>
          {of.name}
        </a>
      </th>
      {of.note !== "" ? (
        <td colSpan={4} class="text hint clip" title={of.note}>
          {of.note}
        </td>
      ) : (
        <>
          <td class="text clip" title={of.data}>
            {of.model}
          </td>
          <td>{formatCount(of.num_layers)}</td>
          <td>
            <span class="feature-progress">
              {!of.is_complete && of.num_samples !== null && (
                <ShareBar label="Samples that are extracted" now={of.num_done} most={of.num_samples} />
              )}
              {samplesText(of)}
            </span>
          </td>
          <td>{formatBytes(of.num_bytes)}</td>
        </>
      )}
    </tr>
  );
}
