/** What the set is: of which model and data, how much of it is there. */
import type { ComponentChildren } from "preact";
import { formatBytes, formatCount, formatNumberOf, formatShare } from "../format";
import { now, useClock } from "../runs/clock";
import { isConnected, lastHeard } from "../runs/states";
import { formatAgo } from "../runs/times";
import type { FeatureSetAnswer, FeatureSetListing } from "../wire";
import * as store from "./store";
import { samplesText } from "./wording";

export function SetFacts() {
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
          <dl class="readout facts">
            <Fact name="Model">{listing.model}</Fact>
            <Fact name="Data">{listing.data}</Fact>
            <Fact name="Samples">{samplesText(listing)}</Fact>
            {detail !== null && <Fact name="Labels">{labelsText(detail)}</Fact>}
            <Fact name="Layers">{formatCount(listing.num_layers)}</Fact>
            <Fact name="On disk">
              {formatBytes(listing.num_bytes)} <span class="muted">{listing.storage}</span>
            </Fact>
          </dl>
          {detail !== null && <Notes notes={detail.notes} />}
        </div>
      )}
    </>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  if (children === "") return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** Live: an extraction that goes on, or one that was left. */
function Progress({ listing }: { listing: FeatureSetListing }) {
  useClock();
  const { num_done: done, num_samples: all, updated } = listing;
  const share = all === null || all === 0 ? null : done / all;
  const when = isConnected.value ? now.value : (lastHeard.value ?? now.value);
  return (
    <div class="ft-progress" role="status" aria-live="off">
      <div
        class={share === null ? "bar moving" : "bar"}
        role="progressbar"
        aria-label="Samples that are extracted"
        aria-valuenow={share === null ? undefined : Math.round(share * 100)}
      >
        <i style={share === null ? {} : { width: `${share * 100}%` }} />
      </div>
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
