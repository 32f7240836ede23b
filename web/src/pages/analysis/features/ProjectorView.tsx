/** Samples of a layer as points: the projector, with labels as colours. */
import { batch } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { formatCount } from "../../../data/format";
import * as page from "../../../data/store";
import { PointsPanel } from "../../../stage3d/points/PointsPanel";
import { PointsTable } from "../../../stage3d/points/PointsTable";
import { Stage } from "../../../stage3d/points/Stage";
import { type Embedding, readEmbedding, showEmbedding } from "../../../stage3d/points/embedding";
import { startReducing } from "../../../stage3d/points/reduction";
import * as projector from "../../../stage3d/points/store";
import type { FeatureLayer } from "../../../wire";
import { Choice, MoreSamples, Work, WorkLine } from "./Work";
import { type Followed, useFollowed } from "./follow";
import * as store from "./store";
import { basisText } from "./words";
import "../../../stage3d/points/projector.css";

interface Points {
  readonly embedding: Embedding;
  readonly key: string;
  readonly note: string;
  readonly numDone: number;
}

function usePoints(layer: number): Followed<Points> {
  const most = store.numPoints.value;
  const done = store.listing.value?.num_done ?? 0;
  const asked = { set_id: store.setId.value, layer, most };
  return useFollowed("feature_points", layer < 0 ? null : asked, ({ answer: { head, note }, buffer, offset }): Points | null => {
    if (head === null) return null;
    const embedding = readEmbedding(head, buffer, offset);
    return { embedding, key: JSON.stringify([layer, most, embedding.numPoints, done]), note, numDone: done };
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
    const asked = { set_id: store.setId.peek(), layer: store.layerAt.peek(), most: store.numPoints.peek() };
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
        <Choice name="Samples" param="points" value={store.numPoints.value} usual={2000} choices={store.POINTS} />
        {points !== null && layer !== null && <Said of={points} layer={layer} />}
        <span class="grow" />
        {isThere && points === null && <WorkLine what="Reading the samples" of={asked} />}
        {points !== null && <MoreSamples numThen={points.numDone} again={asked.retry} />}
      </div>
      {isThere && asked.problem === "" ? (
        <div class="projector ft-projector">
          <div class="projector-stage">{projector.isTable.value ? <PointsTable /> : <Stage />}</div>
          <PointsPanel />
        </div>
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
    projector.loading.value = { state: "idle" };
    projector.reducing.value = { state: "idle" };
  });
}
