/** Embeddings in two and three dimensions. */
import { useEffect } from "preact/hooks";
import { param, setParams } from "../../data/route";
import * as runs from "../../data/runs";
import * as page from "../../data/store";
import { ProjectorOptions } from "../../stage3d/points/PointsPanel";
import { Projector } from "../../stage3d/points/Stage";
import { startLoading, startReducing } from "../../stage3d/points/embedding";
import * as store from "../../stage3d/points/store";
import { Blank } from "../../ui/Blank";
import { RunsFrame } from "../../ui/RunsFrame";
import { TimeBar } from "../../ui/TimeBar";

export function ProjectorPage() {
  const source = page.source.value;
  useEffect(() => {
    if (source === null) return undefined;
    const stops = [startLoading(), startReducing(source)];
    return () => stops.forEach((stop) => stop());
  }, [source]);
  const list = store.records.value;
  if (store.places.value.length === 0) {
    return (
      <RunsFrame options={null}>
        <NoneYet />
      </RunsFrame>
    );
  }
  return (
    <RunsFrame options={<ProjectorOptions />}>
      <Projector>
        <h1 class="sr">Projector</h1>
        {list.length > 1 && (
          <div class="projector-time">
            <TimeBar
              moments={list}
              at={store.recordAt.value}
              numAll={store.list.value?.numAll ?? list.length}
              isFollowing={store.wantedStep.value === null}
              onGo={(at) => setParams({ step: String(list[at]!.step) })}
              onFollow={(isOn) => setParams({ step: isOn ? null : String(list[store.recordAt.peek()]!.step) })}
            />
          </div>
        )}
      </Projector>
    </RunsFrame>
  );
}

function NoneYet() {
  const isWaiting =
    runs.listing.value.state === "waiting" || runs.chosen.value.some((run) => !runs.index.value.has(run.id));
  if (isWaiting) return <div class="skeletons late" aria-busy="true" aria-label="Loading the runs" />;
  if (runs.chosen.value.length === 0)
    return (
      <Blank icon="frame" title="No runs are chosen">
        <span>Choose one in the list on the left.</span>
      </Blank>
    );
  return (
    <Blank icon="frame" title="No embeddings in these runs">
      <span>A matrix with a row for each point, and what is known of each of them:</span>
      <pre>run.log_embedding(step, "penultimate", features, metadata=labels)</pre>
      {param("embedding") !== "" && <span>The address asks for “{param("embedding")}”.</span>}
    </Blank>
  );
}
