/** What units respond to: the best label and the selectivity of all of them, and one of them in detail. */
import { signal } from "@preact/signals";
import { formatCount, formatValue } from "../../data/format";
import { unitName } from "../../data/network/words";
import { ColourScale } from "../../plot/ColourScale";
import { NumberTable } from "../../plot/NumberTable";
import type { Picture } from "../../plot/Pixels";
import { labelColour, Legend, Mark } from "../../plot/labels";
import { rangeOf, readPalette, type Scale } from "../../ui/colour-scale";
import { Segments } from "../../ui/controls";
import type { NetLayer } from "../../wire";
import { Chart, LayerFigures, Levels, nearestOf, Plate, ReadingLine } from "./Figure";
import { chooseUnit, chosenScale, current, isTable, unitOf } from "./choice";
import { type Analysed, type Items, items, singlesOf, useAnalysis, useBoth } from "./items";
import { paintKinds, paintPlate, readLabelColour } from "./plates";

const WORDS = { best: "Best label", selectivity: "Selectivity", dprime: "d′" } as const;
type Shown = keyof typeof WORDS;

const shown = signal<Shown>("selectivity");

/** Of each unit. */
type Tuned = Record<Shown, Float32Array>;
type Answered = Analysed<"net_tuning", Tuned>;

export function TuningView() {
  const all = items.value;
  const hasLabels = (all?.labels.length ?? 0) > 1;
  const hasNone = all !== null && !hasLabels;
  const looks = useBoth("net_tuning", () => (hasNone ? null : {}), (reply): Tuned => {
    const count = reply.answer.num_units;
    const column = (at: number): Float32Array => singlesOf(reply, count, 4 * count * at);
    return { best: column(0), selectivity: column(1), dprime: column(2) };
  });
  const what = shown.value;
  const scale = chosenScale(`tuning:${what}`, rangeOf(looks.flatMap(({ value }) => [...(value?.data[what] ?? [])])));
  if (hasNone) return <NoLabels />;
  return (
    <>
      <LayerFigures looks={looks} draw={(value) => value !== null && <Pair value={value} scale={scale.scale} />} />
      <ReadingLine />
      <div class="an-below">
        <Segments
          label="Shown of all units"
          words={(Object.keys(WORDS) as Shown[]).map((one) => [one, WORDS[one]] as const)}
          chosen={what}
          choose={(one) => (shown.value = one)}
        />
        {what !== "best" && (
          <div class="an-scale">
            <span class="muted fs-1">{what === "dprime" ? "d′ of the best label" : "0: all labels alike, 1: one alone"}</span>
            <ColourScale {...scale} />
            <span class="muted fs-1">Grey: not defined, as where a unit is silent</span>
          </div>
        )}
        {all !== null && <Legend of={all} />}
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

function Pair({ value, scale }: { value: Answered; scale: Scale }) {
  const { layer, items: all, data: tuned } = value;
  const what = shown.value;
  const paint = (): Picture => {
    if (what !== "best") return paintPlate(layer.grid, tuned[what], scale, readPalette(scale.map));
    const colours = all.labels.map((_, label) => readLabelColour(label, all.labels.length));
    return paintKinds(layer.grid, tuned.best, colours, readPalette("seq").none);
  };
  const unit = unitOf(layer);
  return (
    <div class="an-pair">
      <Plate
        grid={layer.grid}
        paint={paint}
        by={[value, what, scale.low, scale.high, scale.map]}
        summary={`${WORDS[what]} of ${layer.grid.num_units} units of ${layer.name}. Arrows choose a unit.`}
        read={(one) => unitText(layer, tuned, all.labels, one)}
        chosen={unit}
        onChoose={(one) => chooseUnit(layer, one)}
      />
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

// --- What one unit responds to each label: the mean as a bar, each item as a point.

interface Responses {
  readonly responses: Float32Array;
  /** By label; empty where there are none. */
  readonly means: Float32Array;
  readonly dPrimes: Float32Array;
}

type Unit = Analysed<"net_unit_tuning", Responses>;

function OneUnit({ layer, unit }: { layer: NetLayer; unit: number }) {
  const look = useAnalysis("net_unit_tuning", layer, { unit }, (reply, of): Responses => {
    const [count, numLabels] = [reply.answer.places.length, of.labels.length];
    const numbers = singlesOf(reply, count + 2 * numLabels);
    return { responses: numbers.slice(0, count), means: numbers.slice(count, count + numLabels), dPrimes: numbers.slice(count + numLabels) };
  });
  if (look?.problem !== "") {
    return (
      <p class="hint" role="alert">
        {look?.problem}
      </p>
    );
  }
  if (look.value === null) return <i class="skeleton late" />;
  const { head, data, items: all } = look.value;
  if (!isTable.value || all.labels.length === 0) return <Bars name={unitName(layer, unit)} value={look.value} />;
  return (
    <NumberTable
      label="Table of labels"
      head={["Label", "Items", "Mean", "d′"]}
      rows={all.labels.map((label, at) => [
        label,
        formatCount(head.counts[at] ?? 0),
        formatValue(data.means[at] ?? Number.NaN, 4),
        formatValue(data.dPrimes[at] ?? Number.NaN, 4),
      ])}
    />
  );
}

const [LEFT, EDGE, BOTTOM] = [52, 12, 22];
const LEAST_NAMED = 26;
const REACH = 12;

function Bars({ name, value: { head, data, items: all } }: { name: string; value: Unit }) {
  const { labels } = all;
  const numBars = Math.max(1, labels.length);
  const { min: low, max } = rangeOf([0, ...data.responses, ...data.means])!;
  const high = max > low ? max : low + 1;
  const means = labels.length > 0 ? `, with the mean of each of ${labels.length} labels` : "";
  return (
    <Chart
      summary={`Responses of ${name} to ${head.places.length} items${means}.`}
      items={all}
      order={head.places}
      draw={(width, height) => {
        const pitch = (width - LEFT - EDGE) / numBars;
        const y = (one: number): number => height - BOTTOM - ((one - low) / (high - low)) * (height - BOTTOM - EDGE);
        const spots = spotsOf(head.places, all).map(({ place, bar }, at) => ({ place, x: LEFT + bar * pitch, y: y(data.responses[at]!) }));
        const picture = (
          <>
            <Levels low={low} high={high} left={LEFT} right={width - EDGE} y={y} />
            {[...data.means].map((mean, label) => (
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
                    {labels[label]!.slice(0, Math.floor(pitch / 6.5))}
                  </text>
                )}
              </g>
            ))}
            <path class="base" d={`M${LEFT} ${Math.round(y(0)) + 0.5}H${width - EDGE}`} />
            {spots.map(({ place, ...spot }) => {
              const isOn = place === current.value;
              return <Mark key={place} {...spot} size={isOn ? 5 : 3} label={all.label_of[place]} numLabels={numBars} isOn={isOn} />;
            })}
          </>
        );
        return { picture, itemAt: (left, top) => nearestOf(spots, left, top, REACH) };
      }}
    />
  );
}

/** Points beside each other: where they stand in a bar says nothing but which item it is. */
function spotsOf(places: readonly number[], { label_of: labelOf }: Items): { place: number; bar: number }[] {
  const counted = new Map<number, number>();
  return places.map((place) => {
    const label = labelOf[place] ?? 0;
    const number = counted.get(label) ?? 0;
    counted.set(label, number + 1);
    return { place, bar: label + ((number * 0.618034) % 1) * 0.6 + 0.2 };
  });
}
