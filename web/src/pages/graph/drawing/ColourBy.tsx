/** Choose what boxes are coloured by, and read or fix the scale. */
import { useEffect } from "preact/hooks";
import * as store from "../../../data/store";
import { Ramp } from "../../../ui/controls";
import { figureText, METRICS } from "./box-figures";
import { fixedLimit, measure, scale, shownMetric, types } from "./view-state";

export function ColourBy() {
  const metric = shownMetric.value;
  const tree = store.hierarchy.value;
  useEffect(() => {
    if (metric === "zeros") void store.requestFigures("zeros");
  }, [metric, tree]);
  const choose = (event: Event): void => {
    const chosen = METRICS.find((one) => one.metric === (event.currentTarget as HTMLSelectElement).value);
    fixedLimit.value = null;
    if (chosen !== undefined) store.metric.value = chosen.metric;
  };
  const isOffered = (one: (typeof METRICS)[number]): boolean => {
    if (one.metric === "backward_time") return (store.document.value?.num_backward_passes ?? 0) > 0;
    return one.metric !== "forward_time" || store.flow.value === "forward";
  };
  return (
    <div class="float graph-colour" role="group" aria-label="Colours">
      <label class="muted" for="graph-metric">
        Colour by
      </label>
      <select id="graph-metric" class="input wide" value={metric} onChange={choose}>
        {METRICS.filter(isOffered).map((one) => (
          <option key={one.metric} value={one.metric}>
            {one.title}
          </option>
        ))}
      </select>
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
  return (
    <ul class="graph-types">
      {(types.value ?? []).map((type, index) => (
        <li key={type} class="clip">
          <i class="graph-swatch" style={{ background: `var(--cat-${index + 1})` }} />
          {type}
        </li>
      ))}
      <li class="clip">
        <i class="graph-swatch" style={{ background: "var(--line-2)" }} />
        others
      </li>
    </ul>
  );
}
