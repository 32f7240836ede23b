/** The pass in a few figures, at the foot of the module panel. */
import { formatBytes, formatLarge, formatSeconds } from "../../../data/format";
import type { PassDocument } from "../../../wire";

export function PassReadout({ document }: { document: PassDocument }) {
  return (
    <div class="section">
      <dl class="readout">
        <dt>Parameters</dt>
        <dd>{formatLarge(document.num_params)}</dd>
        <dt>Forward</dt>
        <dd>{document.is_shape_only ? "shapes only" : formatSeconds(document.elapsed_seconds)}</dd>
        {document.num_backward_passes > 0 && (
          <>
            <dt>Backward</dt>
            <dd>{formatSeconds(backwardSeconds(document))}</dd>
          </>
        )}
        <dt>Activations</dt>
        <dd>{formatBytes(document.num_bytes)}</dd>
      </dl>
    </div>
  );
}

/** Of all ops, over all backward passes. */
export function backwardSeconds(document: PassDocument): number {
  return document.ops.reduce((sum, op) => sum + (op.backward_seconds ?? 0), 0);
}

/** Ops without inputs, outputs, buffers and other sources: what really ran. */
export function numCalls(document: PassDocument): number {
  return document.ops.filter((op) => op.kind === "op").length;
}
