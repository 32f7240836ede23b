/** What units respond to: the best label and the selectivity of all of them, and one of them in detail. */
import { signal } from "@preact/signals";
import { useMemo, useState } from "preact/hooks";
import { formatValue } from "../format";
import { ColourScale } from "../inspector/ColourScale";
import { unitName } from "../netview/wording";
import { Segments } from "../shell/Segments";
import { themeTick } from "../store";
import type { NetLayer } from "../wire";
import { singlesOf, useAnalysis, type Analysed } from "./answers";
import { chooseUnit, first, second, unitOf } from "./choosing";
import { rangeOf, readLabelColour, readNumberInks, readToken } from "./colours";
import { Figure } from "./Figure";
import { items } from "./items";
import { Legend } from "./Legend";
import { paintKinds, paintPlate } from "./plates";
import { PlatePicture } from "./PlatePicture";
import { ReadingLine } from "./ReadingLine";
import { chosenScale, type ChosenScale } from "./scales";
import { UnitChart, type UnitResponses } from "./UnitChart";

const FIGURES = ["best", "selectivity", "dprime"] as const;
type Shown = (typeof FIGURES)[number];
const WORDS: Record<Shown, string> = { best: "Best label", selectivity: "Selectivity", dprime: "d′" };

const shown = signal<Shown>("selectivity");

interface Tuned {
  readonly best: Float32Array;
  readonly selectivity: Float32Array;
  readonly dprime: Float32Array;
}

export function TuningView() {
  const hasLabels = (items.value?.labels.length ?? 0) > 1;
  const asked = [
    useAnalysis("net_tuning", first.value, hasLabels ? {} : null),
    useAnalysis("net_tuning", second.value, hasLabels ? {} : null),
  ];
  const tuned = [useTuned(asked[0]!.value), useTuned(asked[1]!.value)];
  const both = [first.value, second.value];
  const values = tuned.flatMap((one, at) => (one === null || both[at] === null ? [] : [...one[shown.value]]));
  const scale = chosenScale(`tuning:${shown.value}`, rangeOf(values));
  const all = items.value;
  if (all !== null && !hasLabels) return <NoLabels />;
  return (
    <>
      <div class="an-figures">
        {both.map((layer, at) => {
          const { value, problem, retry } = asked[at]!;
          const its = tuned[at] ?? null;
          if (layer === null) return null;
          const isIts = value?.layer.name === layer.name;
          return (
            <Figure
              key={at}
              layer={layer}
              problem={problem}
              retry={retry}
              isReady={isIts && its !== null}
              isOld={isIts && value.items !== all}
              note={value?.head.note ?? ""}
            >
              {value !== null && its !== null && <Pair value={value} tuned={its} scale={scale} />}
            </Figure>
          );
        })}
      </div>
      <ReadingLine />
      <div class="an-below">
        <Segments label="Shown of all units" words={FIGURES.map((one) => [one, WORDS[one]] as const)} chosen={shown.value} choose={(one) => (shown.value = one)} />
        {shown.value !== "best" && (
          <div class="an-scale">
            <span class="muted fs-1">{shown.value === "dprime" ? "d′ of the best label" : "0: all labels alike, 1: one alone"}</span>
            <ColourScale scale={scale.scale} isAuto={scale.isAuto} onChange={scale.set} />
            <span class="muted fs-1">Grey: not defined, as where a unit is silent</span>
          </div>
        )}
        {all !== null && <Legend items={all} />}
      </div>
    </>
  );
}

export function NoLabels() {
  return (
    <div class="blank">
      <b>Tuning needs labels</b>
      <span>Two different ones at least. Choose at the left where they come from, or write them beside the layers:</span>
      <pre>{`view.update(x, label="cat")              # of all items of a moment\nview.run.log_tensor(step, "labels", y)   # of each item of the batch`}</pre>
    </div>
  );
}

function useTuned(value: Analysed<"net_tuning"> | null): Tuned | null {
  return useMemo(() => {
    if (value === null) return null;
    const count = value.head.num_units;
    const column = (at: number): Float32Array => singlesOf(value.bytes, count, 4 * count * at);
    return { best: column(0), selectivity: column(1), dprime: column(2) };
  }, [value]);
}

function Pair({ value, tuned, scale }: { value: Analysed<"net_tuning">; tuned: Tuned; scale: ChosenScale }) {
  const [pointed, setPointed] = useState<number | null>(null);
  const { layer, items: all } = value;
  const what = shown.value;
  const tick = themeTick.value;
  const { scale: limits } = scale;
  const plate = useMemo(() => {
    if (what !== "best") return paintPlate(layer.grid, tuned[what], limits, readNumberInks(limits.map));
    const colours = all.labels.map((_, label) => readLabelColour(label, all.labels.length));
    return paintKinds(layer.grid, tuned.best, colours, readToken("--line-2"));
  }, [value, what, limits.low, limits.high, limits.map, tick]);
  const unit = unitOf(layer);
  return (
    <div class="an-pair">
      <div class="an-part">
        <PlatePicture
          grid={layer.grid}
          plate={plate}
          summary={`${WORDS[what]} of ${layer.grid.num_units} units of ${layer.name}. Arrows choose a unit.`}
          chosen={unit}
          onPoint={setPointed}
          onChoose={(one) => chooseUnit(layer, one)}
        />
        <p class="an-reading">{unitText(layer, tuned, all.labels, pointed ?? unit)}</p>
      </div>
      <div class="an-part">
        {unit === null ? <p class="muted fs-2 an-hint">Click a unit to see what it responds to.</p> : <OneUnit layer={layer} unit={unit} />}
      </div>
    </div>
  );
}

function unitText(layer: NetLayer, tuned: Tuned, labels: readonly string[], unit: number | null): string {
  if (unit === null) return "Point at a unit to read it.";
  const { best, selectivity, dprime } = tuned;
  const label = labels[best[unit] ?? -1] ?? "none";
  return `${unitName(layer, unit)}: best “${label}”, selectivity ${formatValue(selectivity[unit]!, 3)}, d′ ${formatValue(dprime[unit]!, 3)}`;
}

function OneUnit({ layer, unit }: { layer: NetLayer; unit: number }) {
  const { value, problem } = useAnalysis("net_unit_tuning", layer, { unit });
  const responses = useMemo((): UnitResponses | null => {
    if (value === null) return null;
    const { places, counts } = value.head;
    const numbers = singlesOf(value.bytes, places.length + 2 * value.items.labels.length);
    const after = places.length + value.items.labels.length;
    return { places, counts, responses: numbers.slice(0, places.length), means: numbers.slice(places.length, after), dPrimes: numbers.slice(after) };
  }, [value]);
  if (problem !== "") {
    return (
      <p class="hint" role="alert">
        {problem}
      </p>
    );
  }
  if (value === null || responses === null) return <i class="skeleton late" />;
  return <UnitChart name={unitName(layer, unit)} unit={responses} items={value.items} />;
}
