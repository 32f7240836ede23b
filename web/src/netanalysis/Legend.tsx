/** Which colour stands for which label, and how many items have it. */
import { formatCount } from "../format";
import { labelColour, labelShape, MOST_NAMED } from "./colours";
import type { Items } from "./items";
import { Mark } from "./Mark";

export function Legend({ items }: { items: Pick<Items, "labels" | "label_of"> }) {
  const { labels, label_of: labelOf } = items;
  if (labels.length === 0) return null;
  if (labels.length > MOST_NAMED) {
    return (
      <p class="legend" aria-label="Labels">
        {formatCount(labels.length)} labels, from “{labels[0]}” (pale) to “{labels.at(-1)}”
      </p>
    );
  }
  const counts = labels.map(() => 0);
  for (const label of labelOf) counts[label]! += 1;
  return (
    <ul class="legend an-legend" aria-label="Labels">
      {labels.map((name, label) => (
        <li key={label}>
          <svg width="12" height="12" aria-hidden="true">
            <Mark x={6} y={6} size={4} shape={labelShape(label, labels.length)} fill={labelColour(label, labels.length)} />
          </svg>
          <span class="clip">{name}</span>
          <span class="muted" title="items">× {formatCount(counts[label]!)}</span>
        </li>
      ))}
    </ul>
  );
}
