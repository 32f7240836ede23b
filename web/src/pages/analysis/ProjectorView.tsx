/** Samples of a layer as points: the projector, with labels as colours. */
import { batch } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { formatCount } from "../../data/format";
import * as page from "../../data/store";
import { Projector } from "../../stage3d/points/Stage";
import { type Embedding, readEmbedding, showEmbedding } from "../../stage3d/points/embedding";
import { startReducing } from "../../stage3d/points/reduction";
import * as projector from "../../stage3d/points/store";
import type { FeatureLayer } from "../../wire";
import { CountChoice, MoreSamples, Work } from "./Figure";
import * as store from "./features";
import { basisText, type Followed, useFollowed } from "./features";

interface Points {
  readonly embedding: Embedding;
  readonly key: string;
  readonly note: string;
  readonly numDone: number;
}

function usePoints(layer: number): Followed<Points> {
  const [most, numDone] = [store.numPoints.chosen, store.numDone.value];
  return useFollowed("feature_points", layer < 0 ? null : { layer, most }, ({ answer: { head, note }, buffer, offset }): Points | null => {
    if (head === null) return null;
    const embedding = readEmbedding(head, buffer, offset);
    return { embedding, key: JSON.stringify([layer, most, embedding.numPoints, numDone]), note, numDone };
  });
}

/** Give the points to the projector, for as long as they are shown here. */
function useProjector(points: Points | null, layer: FeatureLayer | null): void {
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
    if (points === null || layer === null) return;
    const asked = { set_id: store.setId.peek(), layer: store.layerAt.peek(), most: store.numPoints.chosen };
    showEmbedding({
      place: { runId: asked.set_id, runName: store.listing.peek()?.name ?? "", name: layer.name },
      record: points.key,
      step: null,
      embedding: points.embedding,
      reduceAs: (how) => ({ type: "feature_reduce", ...asked, ...how }),
    });
  }, [points]);
}

export function ProjectorView() {
  const layer = store.layer.value;
  const asked = usePoints(store.layerAt.value);
  const points = asked.isOwn ? asked.value : null;
  useProjector(points, layer);
  const isThere = projector.loaded.value !== null;
  return (
    <>
      <div class="ft-controls">
        <CountChoice name="Samples" of={store.numPoints} />
        {points !== null && layer !== null && <Said of={points} layer={layer} />}
        <span class="grow" />
        {isThere && points === null && <Work what="Reading the samples" of={asked} isLine />}
        {points !== null && <MoreSamples numThen={points.numDone} again={asked.retry} />}
      </div>
      {isThere && asked.problem === "" ? (
        <Projector look="ft-projector" />
      ) : (
        <Work what="Reading the samples" of={asked} />
      )}
    </>
  );
}

function Said({ of: { embedding, note, numDone }, layer }: { of: Points; layer: FeatureLayer }) {
  return (
    <span class="muted fs-1 clip" title={note}>
      {layer.name} · {basisText(embedding.numPoints, numDone)}
      {note === "" ? ` · ${formatCount(layer.num_units)} units` : `. ${note}`}
    </span>
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
