/** Mean, deviation, extremes, zeros and what is no number, in the order they have everywhere. */
import { formatCount, formatShare, formatValue } from "../format";
import type { TensorView } from "../wire";

export function TensorFigures({ view }: { view: TensorView }) {
  const figure = (value: number | null): string => (value === null ? "none" : formatValue(value));
  const isBad = view.num_nan + view.num_inf > 0;
  return (
    <div class="section figures">
      <dl class="readout cols" aria-label="Figures">
        <dt>mean</dt>
        <dd data-figure="mean">{figure(view.mean)}</dd>
        <dt>std</dt>
        <dd data-figure="std">{figure(view.std)}</dd>
        <dt>min</dt>
        <dd data-figure="min">{figure(view.min)}</dd>
        <dt>max</dt>
        <dd data-figure="max">{figure(view.max)}</dd>
        <dt>zeros</dt>
        <dd data-figure="zeros" title={formatCount(view.num_zeros)}>
          {formatShare(view.num_zeros, view.num_elements)}
        </dd>
        <dt>NaN / Inf</dt>
        <dd data-figure="nonfinite" class={isBad ? "bad" : ""}>
          {formatCount(view.num_nan)} / {formatCount(view.num_inf)}
        </dd>
      </dl>
    </div>
  );
}
