/** What units respond to: the best label and the selectivity of all of them, and one of them in detail. */
import { signal } from "@preact/signals";
import { useMemo, useState } from "preact/hooks";
import { formatCount, formatValue } from "../../data/format";
import { unitName } from "../../data/network/words";
import { themeTick } from "../../data/store";
import { ColourScale } from "../../plot/ColourScale";
import { formatTicks, linearTicks } from "../../plot/ticks";
import { Segments } from "../../ui/controls";
import { useSize } from "../../ui/useSize";
import type { NetLayer } from "../../wire";
import { Figure, goToItem, Legend, Mark, PlatePicture, ReadingLine, stepItem } from "./Figure";
import { chooseUnit, chosenScale, type ChosenScale, current, first, isTable, second, unitOf } from "./choice";
import { type Analysed, type Items, items, singlesOf, useAnalysis } from "./items";
import {
  labelColour,
  labelShape,
  paintKinds,
  paintPlate,
  rangeOf,
  readLabelColour,
  readNumberInks,
  readToken,
} from "./pixels";

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

// --- What one unit responds to each label: the mean as a bar, each item as a point.

interface UnitResponses {
  readonly places: readonly number[];
  readonly responses: Float32Array;
  /** By label; empty where there are none. */
  readonly means: Float32Array;
  readonly dPrimes: Float32Array;
  readonly counts: readonly number[];
}

const [LEFT, EDGE, BOTTOM] = [52, 12, 22];
const LEAST_NAMED = 26;

function UnitChart({ name, unit, items }: { name: string; unit: UnitResponses; items: Items }) {
  if (isTable.value && items.labels.length > 0) return <LabelTable unit={unit} items={items} />;
  return <Bars name={name} unit={unit} items={items} />;
}

function Bars({ name, unit, items }: { name: string; unit: UnitResponses; items: Items }) {
  const [box, room] = useSize<HTMLDivElement>();
  const [width, height] = [Math.floor(room.width), Math.floor(room.height)];
  const numBars = Math.max(1, items.labels.length);
  const pitch = (width - LEFT - EDGE) / numBars;
  const { min, max } = rangeOf([0, ...unit.responses, ...unit.means]) ?? { min: 0, max: 1 };
  const [low, high] = [min, max > min ? max : min + 1];
  const y = (value: number): number => height - BOTTOM - ((value - low) / (high - low)) * (height - BOTTOM - EDGE);
  const ticks = linearTicks({ low, high });
  const texts = formatTicks(ticks);
  // Points beside each other: where they stand in a bar says nothing but which item it is.
  const counted = new Map<number, number>();
  const spots = unit.places.map((place, at) => {
    const label = items.label_of[place] ?? 0;
    const number = counted.get(label) ?? 0;
    counted.set(label, number + 1);
    const share = ((number * 0.618034) % 1) * 0.6 + 0.2;
    return { place, label: items.label_of[place], x: LEFT + (label + share) * pitch, y: y(unit.responses[at]!) };
  });
  const nearest = (event: PointerEvent): number | null => {
    const area = (event.currentTarget as Element).getBoundingClientRect();
    let [best, near] = [null as number | null, 12];
    for (const spot of spots) {
      const far = Math.hypot(spot.x - event.clientX + area.left, spot.y - event.clientY + area.top);
      if (far < near) [best, near] = [spot.place, far];
    }
    return best;
  };
  return (
    <div class="an-room" ref={box}>
      {width > 0 && height > 0 && (
        <svg
          class="an-chart"
          width={width}
          height={height}
          role="img"
          aria-label={`Responses of ${name} to ${unit.places.length} items${items.labels.length > 0 ? `, with the mean of each of ${items.labels.length} labels` : ""}.`}
          tabindex={0}
          onPointerMove={(event) => (current.value = nearest(event))}
          onPointerLeave={() => (current.value = null)}
          onClick={() => current.peek() !== null && goToItem(items, current.peek()!)}
          onKeyDown={(event) => stepItem(event, unit.places, items)}
        >
          {ticks.map((tick, at) => (
            <g key={tick}>
              <path class="grid" d={`M${LEFT} ${Math.round(y(tick)) + 0.5}H${width - EDGE}`} />
              <text class="e" x={LEFT - 6} y={y(tick) + 4}>
                {texts[at]}
              </text>
            </g>
          ))}
          {[...unit.means].map((mean, label) => (
            <g key={label}>
              {Number.isFinite(mean) && (
                <rect
                  class="an-mean"
                  x={LEFT + (label + 0.12) * pitch}
                  width={Math.max(1, pitch * 0.76)}
                  y={Math.min(y(mean), y(0))}
                  height={Math.max(1, Math.abs(y(mean) - y(0)))}
                  fill={labelColour(label, numBars)}
                />
              )}
              {pitch >= LEAST_NAMED && (
                <text class="c" x={LEFT + (label + 0.5) * pitch} y={height - 6}>
                  {items.labels[label]!.slice(0, Math.floor(pitch / 6.5))}
                </text>
              )}
            </g>
          ))}
          <path class="base" d={`M${LEFT} ${Math.round(y(0)) + 0.5}H${width - EDGE}`} />
          {spots.map((spot) => (
            <Mark
              key={spot.place}
              x={spot.x}
              y={spot.y}
              size={spot.place === current.value ? 5 : 3}
              shape={labelShape(spot.label, numBars)}
              fill={labelColour(spot.label, numBars)}
              isOn={spot.place === current.value}
            />
          ))}
        </svg>
      )}
    </div>
  );
}

function LabelTable({ unit, items }: { unit: UnitResponses; items: Items }) {
  return (
    <div class="an-table" role="region" aria-label="Table of labels" tabIndex={0}>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Label</th>
            <th scope="col">Items</th>
            <th scope="col">Mean</th>
            <th scope="col">d′</th>
          </tr>
        </thead>
        <tbody>
          {items.labels.map((label, at) => (
            <tr key={at}>
              <th scope="row">{label}</th>
              <td>{formatCount(unit.counts[at] ?? 0)}</td>
              <td>{formatValue(unit.means[at] ?? Number.NaN, 4)}</td>
              <td>{formatValue(unit.dPrimes[at] ?? Number.NaN, 4)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
