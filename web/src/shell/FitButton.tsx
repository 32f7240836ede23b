/** All of a graph in view. */
import { Icon } from "./Icon";

export function FitButton({ fit }: { fit: () => void }) {
  return (
    <button class="btn quiet square" aria-label="Fit the graph" title="Fit the graph (0)" onClick={() => fit()}>
      <Icon name="frame" />
    </button>
  );
}
