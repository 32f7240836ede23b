/** The selected unit: the exact values of all its variables, and what it is connected with. */
import { formatCount, formatExact } from "../../data/format";
import { step } from "../../data/network/moments";
import { chosenUnit, isOlder, layerOf, weightFacts } from "../../data/network/network-state";
import * as store from "../../data/network/store";
import { type Reading, readingFailure, selectedReading } from "../../data/network/unit-readings";
import { indexOf, NOT_IN_FILE, NOT_WEIGHTED, unitName, weightVariable } from "../../data/network/words";
import { type Fact, Facts } from "../../plot/tensor/Facts";
import { Hint } from "../../ui/Blank";
import { IconButton } from "../../ui/IconButton";
import type { Connection } from "../../wire";

export function UnitPanel() {
  return (
    <section class="net-unit rule-t" aria-label="Selected unit">
      <div class="panel-head">
        <h2>Selected unit</h2>
        <span class="grow" />
        {store.selected.value !== null && (
          <IconButton
            icon="close"
            label="Clear the selection"
            look="btn quiet square"
            onClick={() => (store.selected.value = null)}
          />
        )}
      </div>
      <div class="pad">{chosenUnit.value === null ? <NoUnit /> : <UnitFacts />}</div>
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

function UnitFacts() {
  const { layer, unit } = chosenUnit.value!;
  const reading = selectedReading.value;
  const isOld = reading !== null && reading.step !== step.value;
  const title = `number ${unit} of ${layer.grid.num_units}, index ${indexOf(layer.shape, unit).join(", ")}`;
  const facts: (Fact | null)[] = [
    ["Unit", <span title={title}>{unitName(layer, unit)}</span>],
    ...(reading === null ? [] : valuesOf(reading)),
    ...ofWeights(reading?.values.some(([name]) => name === "Bias") === true),
    ends("Receives from", "r.Wt", ({ source, target }) => (target === layer.name ? source : null)),
    ends("Sends to", "s.Wt", ({ source, target }) => (source === layer.name ? target : null)),
  ];
  return (
    <>
      <div class={isOld ? "waiting" : undefined} aria-busy={reading === null || isOld}>
        <Facts facts={facts} />
      </div>
      {isOld && <p class="muted fs-1 late">Values of step {formatCount(reading.step)}; those of this moment are awaited.</p>}
      {reading === null && readingFailure.value === "" && <i class="skeleton late" style={{ width: "140px" }} />}
      <Hint text={readingFailure.value} />
    </>
  );
}

/** A value that was recorded before the moment says when. */
function valuesOf({ values, steps, step: now }: Reading): Fact[] {
  return values.map(([name, text]) => {
    const recorded = steps.get(name) ?? now;
    const older = isOlder(name, recorded, now) && <span class="muted fs-1"> step {formatCount(recorded)}</span>;
    return [name, [text, older]];
  });
}

function ofWeights(hasBias: boolean): (Fact | null)[] {
  const weight = weightVariable(store.variable.value);
  const { bias, numWeights, missing } = weightFacts.value ?? { bias: null, numWeights: null, missing: [] };
  if (weight === null || numWeights === null) return [];
  const text = <span title={missing.join("; ")}>{weightsText(numWeights, missing)}</span>;
  return [
    bias !== null && !hasBias && weight.name === "Wt" ? ["Bias", [formatExact(bias, "f4")]] : null,
    [weight.direction === "received" ? "Weights received" : "Weights sent", text],
  ];
}

/** None that are known is not the same as none. */
function weightsText(numWeights: number, missing: readonly string[]): string {
  const isPart = missing.some((why) => why !== NOT_WEIGHTED);
  if (!isPart) return numWeights === 0 ? "none" : formatCount(numWeights);
  if (numWeights > 0) return `${formatCount(numWeights)}, others not recorded`;
  return missing.some((why) => why.startsWith(NOT_IN_FILE)) ? "not in this file" : "not recorded";
}

/** `other`: the layer at the other end of a connection. `variable`: what shows the weights. */
function ends(name: string, variable: string, other: (connection: Connection) => string | null): Fact | null {
  const layers = (store.scene.value?.connections ?? []).map(other).filter((layer) => layer !== null);
  if (layers.length === 0) return null;
  const text = layers.map((layer) => `${layer} (${formatCount(layerOf(layer)?.grid.num_units ?? 0)})`).join(", ");
  if (!store.variables.value.some((one) => one.name === variable)) return [name, [text]];
  const show = (): unknown => (store.variable.value = variable);
  return [
    name,
    <button class="link" title={`Show ${variable}`} onClick={show}>
      {text}
    </button>,
  ];
}
