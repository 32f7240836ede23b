/** The histograms of a series of one run, followed while they are near the screen. */
import { askHistograms, type HistogramGrid } from "../asking";
import { versionOf, type Holder } from "../series";
import { useAsked } from "../useAsked";
import { UNREADABLE } from "../useRecords";

const NUM_STEPS = 128;
const NUM_BINS = 64;

export interface GridState {
  /** Null until there is one. */
  readonly grid: HistogramGrid | null;
  readonly problem: string;
  readonly retry: () => void;
}

export function useGrid(
  kind: "histogram" | "tensor",
  name: string,
  holder: Holder,
  isNear: boolean,
): GridState {
  const key = JSON.stringify([holder.run.id, kind, name]);
  const asked = useAsked<HistogramGrid>(
    isNear
      ? {
          key,
          version: versionOf(holder),
          ask: () => askHistograms(holder.run.id, kind, name, NUM_STEPS, NUM_BINS),
        }
      : null,
  );
  // Not the histograms of another run under this one's name.
  const found = asked.key === key ? asked.value : null;
  const isUnreadable = found?.steps.length === 0 && asked.problem === "";
  return {
    grid: found !== null && found.steps.length > 0 ? found : null,
    problem: isUnreadable ? UNREADABLE : asked.problem,
    retry: asked.retry,
  };
}
