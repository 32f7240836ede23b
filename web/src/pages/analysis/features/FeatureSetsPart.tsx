/** On the page of runs: the sets of features that are in the folder, too. */
import { sets } from "../../../data/feature-sets";
import { formatBytes, formatCount, formatShare } from "../../../data/format";
import { addressOf } from "../../../data/route";
import type { FeatureSetListing } from "../../../wire";
import { samplesText } from "./words";
import "./feature-sets.css";

const MOST = 50;

export function FeatureSetsPart() {
  const all = sets.value ?? [];
  if (all.length === 0) return null;
  return (
    <section class="feature-sets" aria-labelledby="feature-sets-title">
      <div class="panel-head">
        <h2 id="feature-sets-title">Features</h2>
        <span class="muted fs-1">activations of whole data sets</span>
      </div>
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
                <span class="bar" role="progressbar" aria-label="Samples that are extracted" aria-valuenow={Math.round((100 * of.num_done) / Math.max(1, of.num_samples))}>
                  <i style={{ width: formatShare(of.num_done, Math.max(1, of.num_samples)).replace("\u202f", "").replace(/[<>]/, "") }} />
                </span>
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
