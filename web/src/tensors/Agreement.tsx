/** How far two tensors are from each other, in three numbers. */
import { formatCount, formatNumberOf, formatValue } from "../format";
import { isWhole } from "../tensor/window";
import type { Difference } from "./difference";

export function Agreement({ difference }: { difference: Difference }) {
  const { largest, correlation, numCompared, between } = difference;
  const { shape, window } = between.view;
  const part = isWhole(shape, window) ? "" : ` of ${formatCount(shape.reduce((a, b) => a * b, 1))}`;
  return (
    <dl
      class="agreement"
      aria-label="Agreement of A and B"
      title={`${formatNumberOf(numCompared, "pair")} of finite values compared${part}`}
    >
      <dt>largest</dt>
      <dd data-figure="largest">{largest === null ? "none" : formatValue(largest)}</dd>
      <dt>correlation</dt>
      <dd data-figure="correlation">{correlation === null ? "none" : formatValue(correlation)}</dd>
      <dt>values</dt>
      <dd data-figure="compared">
        {formatCount(numCompared)}
        {part}
      </dd>
    </dl>
  );
}
