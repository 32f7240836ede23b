/** The frame of all views of chosen runs: which runs and the view's options left, the view right. */
import type { ComponentChildren } from "preact";
import { PanelPlace } from "../shell/PanelPlace";
import { panels, panelWidth } from "../shell/panels";
import { FrameBody } from "./FrameBody";
import { RunList } from "./RunList";
import { TrainingTabs } from "./TrainingTabs";

interface Props {
  /** Sections (`<section class="section">`) under the list of runs. */
  options?: ComponentChildren;
  /** Is there something to show also where no run is chosen? */
  isForAll?: boolean;
  children: ComponentChildren;
}

export function RunsFrame({ options, isForAll = false, children }: Props) {
  return (
    <main class={`main runs-frame ${panels.value.width}`} style={{ "--left": `${panelWidth.value.left}px` }}>
      <PanelPlace side="left">
        <aside class="panel" aria-label="Runs and options">
          <RunList />
          <div class="panel-body run-options">{options}</div>
        </aside>
      </PanelPlace>
      <section class="panel frame-view" aria-label="Training">
        <TrainingTabs />
        <FrameBody isForAll={isForAll}>{children}</FrameBody>
      </section>
    </main>
  );
}
