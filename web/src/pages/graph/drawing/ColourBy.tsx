/** Choose what boxes are coloured by, and read or fix the scale. */
import { useEffect } from "preact/hooks";
import * as store from "../../../data/store";
import { Select } from "../../../ui/Select";
import { Ramp } from "../../../ui/controls";
import { figureText } from "./box-figures";
import { fixedLimit, measure, scale, shownMetric, types } from "./view-state";

export function ColourBy() {
  const metric = shownMetric.value;
  const tree = store.hierarchy.value;
  useEffect(() => {
    if (metric === "zeros") void store.requestFigures("zeros");
  }, [metric, tree]);
  const choose = (one: string): void => {
    fixedLimit.value = null;
    store.metric.value = one as store.Metric;
  };
  const isOffered = (one: string): boolean => {
    if (one === "backward_time") return (store.document.value?.num_backward_passes ?? 0) > 0;
    return one !== "forward_time" || store.flow.value === "forward";
  };
  return (
    <div class="float graph-colour" role="group" aria-label="Colours">
      <label class="muted" for="graph-metric">
        Colour by
      </label>
      <Select
        id="graph-metric"
        look="input wide"
        value={metric}
        options={Object.entries(store.METRICS).filter(([one]) => isOffered(one))}
        set={choose}
      />
      {metric === "type" ? <TypeLegend /> : metric === "none" ? null : <Limits />}
    </div>
  );
}

function Limits() {
  const { limit, unit } = scale.value;
  if (measure.value === null) return <span class="muted">Not known for this pass</span>;
  const take = (event: Event): void => {
    const field = event.currentTarget as HTMLInputElement;
    const amount = Number(field.value.replace(",", ".").replace(/\s/g, ""));
    fixedLimit.value = field.value.trim() !== "" && amount > 0 ? amount * unit.size : null;
    field.value = figureText(scale.peek().limit, scale.peek().unit);
  };
  return (
    <>
      <Ramp map="seq" />
      <div class="ramp-ends">
        <span>0</span>
        <span class="clip">{unit.name}</span>
        <input
          class="graph-limit"
          aria-label={`Upper limit of the scale in ${unit.name}, empty for automatic`}
          title="Upper limit; empty for automatic"
          value={figureText(limit, unit)}
          onChange={take}
        />
      </div>
      {fixedLimit.value !== null && (
        <button class="link" onClick={() => (fixedLimit.value = null)}>
          Automatic limit
        </button>
      )}
    </>
  );
}

function TypeLegend() {
  const all = (types.value ?? []).map((type, index) => [type, `var(--cat-${index + 1})`] as const);
  return (
    <ul class="graph-types">
      {[...all, ["others", "var(--line-2)"] as const].map(([type, colour]) => (
        <li key={colour} class="clip">
          <i class="graph-swatch" style={{ background: colour }} />
          {type}
        </li>
      ))}
    </ul>
  );
}
