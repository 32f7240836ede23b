/** The views of chosen runs. One that has nothing to show is muted; it says there what would fill it. */
import { addressOf, route, type View } from "../route";
import type { RecordKind } from "../wire";
import * as runs from "./store";

const TABS: readonly { view: View; title: string; kinds: readonly RecordKind[] }[] = [
  {
    view: "training",
    title: "Charts",
    kinds: ["scalar", "histogram", "image", "video", "audio", "text", "pr_curve", "confusion"],
  },
  { view: "layers", title: "Layers", kinds: ["watch"] },
  { view: "tensors", title: "Tensors", kinds: ["tensor", "histogram"] },
  { view: "projector", title: "Projector", kinds: ["embedding"] },
  { view: "parameters", title: "Parameters", kinds: ["hparams"] },
];

export function TrainingTabs() {
  return (
    <nav class="subtabs" aria-label="Views of the runs">
      {TABS.map(({ view, title, kinds }) => {
        const hasSome = !runs.isIndexed.value || kinds.some((kind) => runs.namesOf(kind).length > 0);
        return (
          <a
            key={view}
            class={hasSome ? undefined : "empty"}
            href={addressOf(view)}
            aria-current={route.value.view === view ? "page" : undefined}
          >
            {title}
          </a>
        );
      })}
    </nav>
  );
}
