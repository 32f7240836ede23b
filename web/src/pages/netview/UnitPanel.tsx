/** The selected unit: the exact values of all its variables, and what it is connected with. */
import { formatCount, formatExact } from "../../data/format";
import { step } from "../../data/network/moments";
import { chosenUnit, isOlder, layerOf, weightFacts } from "../../data/network/network-state";
import * as store from "../../data/network/store";
import { readingFailure, selectedReading } from "../../data/network/unit-readings";
import { indexOf, NOT_IN_FILE, NOT_WEIGHTED, unitName, weightVariable } from "../../data/network/words";
import { Icon } from "../../ui/Icon";

export function UnitPanel() {
  const chosen = chosenUnit.value;
  return (
    <section class="net-unit rule-t" aria-label="Selected unit">
      <div class="panel-head">
        <h2>Selected unit</h2>
        <span class="grow" />
        {store.selected.value !== null && (
          <button class="btn quiet square" aria-label="Clear the selection" onClick={() => (store.selected.value = null)}>
            <Icon name="close" />
          </button>
        )}
      </div>
      <div class="pad">{chosen === null ? <NoUnit /> : <Facts />}</div>
    </section>
  );
}

function NoUnit() {
  const place = store.selected.value;
  if (place !== null && store.scene.value !== null) {
    return (
      <p class="muted fs-2">
        This network has no unit {formatCount(place.unit)} in “{place.layer}”.
      </p>
    );
  }
  return <p class="muted fs-2">Click a unit to see its exact values and its weights.</p>;
}

function Facts() {
  const { layer, unit } = chosenUnit.value!;
  const reading = selectedReading.value;
  const isOld = reading !== null && reading.step !== step.value;
  return (
    <>
      <dl class={isOld ? "readout facts waiting" : "readout facts"} aria-busy={reading === null || isOld}>
        <Fact name="Unit">
          <span title={`number ${unit} of ${layer.grid.num_units}, index ${indexOf(layer.shape, unit).join(", ")}`}>
            {unitName(layer, unit)}
          </span>
        </Fact>
        {reading?.values.map(([name, text]) => (
          <Fact key={name} name={name}>
            {text}
            <Older name={name} step={reading.steps.get(name)} now={reading.step} />
          </Fact>
        ))}
        <OfWeights hasBias={reading?.values.some(([name]) => name === "Bias") === true} />
        <Ends name="Receives from" layers={sourcesOf(layer.name)} variable="r.Wt" />
        <Ends name="Sends to" layers={targetsOf(layer.name)} variable="s.Wt" />
      </dl>
      {isOld && <p class="muted fs-1 late">Values of step {formatCount(reading.step)}; those of this moment are awaited.</p>}
      {reading === null && readingFailure.value === "" && <i class="skeleton late" style={{ width: "140px" }} />}
      {readingFailure.value !== "" && (
        <p class="hint" role="alert">
          {readingFailure.value}
        </p>
      )}
    </>
  );
}

/** What comes with the weights that are shown. */
function OfWeights({ hasBias }: { hasBias: boolean }) {
  const weight = weightVariable(store.variable.value);
  const { bias, numWeights, missing } = weightFacts.value ?? { bias: null, numWeights: null, missing: [] };
  if (weight === null || numWeights === null) return null;
  return (
    <>
      {bias !== null && !hasBias && weight.name === "Wt" && <Fact name="Bias">{formatExact(bias, "f4")}</Fact>}
      <Fact name={weight.direction === "received" ? "Weights received" : "Weights sent"}>
        <span title={missing.join("; ")}>{weightsText(numWeights, missing)}</span>
      </Fact>
    </>
  );
}

/** None that are known is not the same as none. */
function weightsText(numWeights: number, missing: readonly string[]): string {
  const isPart = missing.some((why) => why !== NOT_WEIGHTED);
  if (!isPart) return numWeights === 0 ? "none" : formatCount(numWeights);
  if (numWeights > 0) return `${formatCount(numWeights)}, others not recorded`;
  return missing.some((why) => why.startsWith(NOT_IN_FILE)) ? "not in this file" : "not recorded";
}

function Fact({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** A value that was recorded before the moment says when. */
function Older({ name, step: recorded, now }: { name: string; step: number | undefined; now: number }) {
  if (recorded === undefined || !isOlder(name, recorded, now)) return null;
  return <span class="muted fs-1"> step {formatCount(recorded)}</span>;
}

interface EndsProps {
  name: string;
  layers: readonly string[];
  /** What shows the weights. */
  variable: string;
}

function Ends({ name, layers, variable }: EndsProps) {
  if (layers.length === 0) return null;
  const canShow = store.variables.value.some((one) => one.name === variable);
  const text = layers.map((layer) => `${layer} (${formatCount(layerOf(layer)?.grid.num_units ?? 0)})`).join(", ");
  return (
    <Fact name={name}>
      {canShow ? (
        <button class="link" title={`Show ${variable}`} onClick={() => (store.variable.value = variable)}>
          {text}
        </button>
      ) : (
        text
      )}
    </Fact>
  );
}

function sourcesOf(layer: string): string[] {
  return (store.scene.value?.connections ?? []).filter(({ target }) => target === layer).map(({ source }) => source);
}

function targetsOf(layer: string): string[] {
  return (store.scene.value?.connections ?? []).filter(({ source }) => source === layer).map(({ target }) => target);
}
