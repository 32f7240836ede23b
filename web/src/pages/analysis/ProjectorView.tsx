/** Samples of a layer as points: the projector, with labels as colours. */
import { batch } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { formatCount } from "../../data/format";
import * as page from "../../data/store";
import { Projector } from "../../stage3d/points/Stage";
import { type Embedding, readEmbedding, showEmbedding } from "../../stage3d/points/embedding";
import { startReducing } from "../../stage3d/points/reduction";
import * as projector from "../../stage3d/points/store";
import { CountChoice, MoreSamples, Work } from "./Figure";
import * as store from "./features";
import { basisText, useFollowed } from "./features";

interface Points {
  readonly embedding: Embedding;
  readonly note: string;
}

/** Give the points to the projector, for as long as they are shown here. */
function useProjector(points: Points | null, numThen: number): void {
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
    const layer = store.layer.peek();
    if (points === null || layer === null) return;
    const asked = { set_id: store.setId.peek(), layer: store.layerAt.peek(), most: store.numPoints.chosen };
    showEmbedding({
      place: { runId: asked.set_id, runName: store.listing.peek()?.name ?? "", name: layer.name },
      record: JSON.stringify([asked.layer, asked.most, points.embedding.numPoints, numThen]),
      step: null,
      embedding: points.embedding,
      reduceAs: (how) => ({ type: "feature_reduce", ...asked, ...how }),
    });
  }, [points]);
}

export function ProjectorView() {
  const [layer, at] = [store.layer.value, store.layerAt.value];
  const about = at < 0 ? null : { layer: at, most: store.numPoints.chosen };
  const asked = useFollowed("feature_points", about, ({ answer: { head, note }, buffer, offset }): Points | null =>
    head === null ? null : { embedding: readEmbedding(head, buffer, offset), note },
  );
  const points = asked.isOwn ? asked.value : null;
  useProjector(points, asked.numThen);
  const isThere = projector.loaded.value !== null;
  return (
    <>
      <div class="ft-controls">
        <CountChoice name="Samples" of={store.numPoints} />
        {points !== null && layer !== null && (
          <span class="muted fs-1 clip" title={points.note}>
            {layer.name} · {basisText(points.embedding.numPoints, asked.numThen)}
            {points.note === "" ? ` · ${formatCount(layer.num_units)} units` : `. ${points.note}`}
          </span>
        )}
        <span class="grow" />
        {isThere && points === null && <Work what="Reading the samples" of={asked} isLine />}
        {points !== null && <MoreSamples of={asked} />}
      </div>
      {isThere && asked.problem === "" ? <Projector look="ft-projector" /> : <Work what="Reading the samples" of={asked} />}
    </>
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
