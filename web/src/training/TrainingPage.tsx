/** Charts of the chosen runs: alarms, scalars in groups, then all else that the runs hold. */
import { useEffect, useLayoutEffect } from "preact/hooks";
import { RunsFrame } from "../runs/RunsFrame";
import { Sections } from "../sections/Sections";
import * as store from "../store";
import { followEvents } from "../watching/events";
import { AlarmNotes } from "./AlarmNotes";
import { AlarmStrip } from "./AlarmStrip";
import { AtCursor } from "./AtCursor";
import { followOptions } from "./feeds";
import { followLayouts } from "./layouts";
import { settleOptions } from "./options";
import { ScalarOptions } from "./ScalarOptions";
import { Scalars, WatcherScalars } from "./Scalars";
import { cursor, spoken } from "./state";
import { startEscape } from "./plotkeys";
import "./training.css";

export function TrainingPage() {
  const source = store.source.value;
  useEffect(() => (source === null ? undefined : followEvents(source)), [source]);
  useEffect(() => {
    const stops = [followOptions(), followLayouts(), startEscape()];
    return () => {
      settleOptions();
      for (const stop of stops) stop();
    };
  }, []);
  // As it goes, not after the next paint: by then the next charts may be there, and pointed at.
  useLayoutEffect(() => () => (cursor.value = null), []);
  const options = (
    <>
      <ScalarOptions />
      <AtCursor />
      <AlarmNotes />
    </>
  );
  return (
    <RunsFrame options={options}>
      <h1 class="sr">Training</h1>
      <AlarmStrip />
      <Scalars />
      <Sections />
      <WatcherScalars />
      <div class="sr" role="status" aria-label="At the cursor">
        {spoken}
      </div>
    </RunsFrame>
  );
}
