/** One sample over all units of a layer: as a picture where the layer has planes, else as a line. */
import { useEffect, useRef } from "preact/hooks";
import { formatCount, formatShare, formatValue } from "../../../data/format";
import { sentence } from "../../../data/network/words";
import { askOf } from "../../../data/requests";
import { setParams } from "../../../data/route";
import { themeTick } from "../../../data/store";
import { useAsked } from "../../../data/useAsked";
import { formatTicks, linearTicks } from "../../../plot/ticks";
import type { Scale } from "../../../ui/colour-scale";
import { type Room, useSize } from "../../../ui/useSize";
import type { FeatureLayer, FeatureSampleAnswer } from "../../../wire";
import { singlesOf } from "../items";
import { paintNumber, rangeOf, readNumberInks } from "../pixels";
import * as store from "./store";

interface Sample {
  readonly head: FeatureSampleAnswer;
  readonly values: Float32Array;
}

export function SamplePart({ sample, layer, scale }: { sample: number; layer: FeatureLayer; scale: Scale }) {
  const [set, at] = [store.setId.value, store.layerAt.value];
  const { value, problem } = useAsked<Sample>({
    key: JSON.stringify([set, at, sample]),
    version: "",
    ask: async () => {
      const reply = await askOf({ type: "feature_sample", set_id: set, layer: at, sample }, "feature_sample");
      const { units, num_units: all } = reply.answer;
      return { head: reply.answer, values: singlesOf(reply, units.length === 0 ? all : units.length) };
    },
  });
  const head = value?.head;
  return (
    <section class="ft-part" aria-label={`Sample ${sample}`} aria-busy={head?.sample !== sample && problem === ""}>
      <header>
        <h3>Sample</h3>
        <input
          class="input sm num ft-number"
          type="number"
          aria-label="Sample"
          min={0}
          value={sample}
          onChange={(event) => setParams({ sample: event.currentTarget.value })}
        />
        {head !== undefined && (
          <span class="muted fs-1 clip">
            {head.name !== String(head.sample) && `${head.name} `}
            {head.label !== "" && `label ${head.label} · `}
            {figuresOf(head)}
          </span>
        )}
      </header>
      {problem !== "" && <p class="hint">{sentence(problem)}</p>}
      {value !== null && <Picture of={value} layer={layer} scale={scale} />}
    </section>
  );
}

function figuresOf({ mean, std, num_zeros: zeros, num_units: all }: FeatureSampleAnswer): string {
  if (mean === null || std === null) return "no finite values";
  return `mean ${formatValue(mean, 3)}, std ${formatValue(std, 3)}, zeros ${formatShare(zeros, all)}`;
}

function Picture({ of: { head, values }, layer, scale }: { of: Sample; layer: FeatureLayer; scale: Scale }) {
  const [box, room] = useSize<HTMLDivElement>();
  const summary = `${layer.name} for sample ${head.sample}: ${formatCount(head.num_units)} values from ${formatValue(head.low ?? Number.NaN, 3)} to ${formatValue(head.high ?? Number.NaN, 3)}.`;
  const isWhole = head.units.length === 0;
  const isFlat = head.shape.length < 2 || !isWhole;
  return (
    <div class="an-room" ref={box}>
      {room.width > 0 && room.height > 0 && values.length > 0 && (isFlat ? <Line {...{ values, room, summary }} /> : <Planes {...{ head, values, room, scale, summary }} />)}
    </div>
  );
}

/** Channels beside each other, as large as there is room for. */
function Planes({ head, values, room, scale, summary }: Sample & { room: Room; scale: Scale; summary: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const sheet = sheetOf(head.shape, room);
  const tick = themeTick.value;
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (context == null) return;
    const [pixels, inks] = [new Uint8ClampedArray(4 * sheet.width * sheet.height), readNumberInks(scale.map)];
    for (let at = 0; at < values.length; at++) paintNumber(pixels, 4 * sheet.placeOf(at), values[at]!, scale, inks);
    context.putImageData(new ImageData(pixels, sheet.width, sheet.height), 0, 0);
  }, [values, scale.low, scale.high, scale.map, tick, sheet.width, sheet.height]);
  return (
    <canvas
      ref={canvas}
      class="ft-planes"
      role="img"
      aria-label={summary}
      width={sheet.width}
      height={sheet.height}
      style={{ width: `${sheet.width * sheet.cell}px`, height: `${sheet.height * sheet.cell}px` }}
    />
  );
}

const [LEFT, EDGE, BOTTOM] = [44, 8, 20];

function Line({ values, room, summary }: { values: Float32Array; room: Room; summary: string }) {
  const [width, height] = [Math.floor(room.width), Math.floor(room.height)];
  const { min, max } = rangeOf([0, ...rangeEnds(values)]) ?? { min: 0, max: 1 };
  const high = max > min ? max : min + 1;
  const y = (value: number): number => height - BOTTOM - ((value - min) / (high - min)) * (height - BOTTOM - EDGE);
  const pitch = (width - LEFT - EDGE) / values.length;
  const ticks = linearTicks({ low: min, high }, 4);
  const texts = formatTicks(ticks);
  const zero = Math.round(y(0)) + 0.5;
  // A stem for each; of more than there are pixels, the farthest from nought of each pixel.
  const count = Math.min(values.length, Math.max(1, Math.floor(width - LEFT - EDGE)));
  const stems = Array.from({ length: count }, (_, at) => farthest(values, Math.floor((at * values.length) / count), Math.floor(((at + 1) * values.length) / count)));
  const gap = (pitch * values.length) / count;
  return (
    <svg class="an-chart" width={width} height={height} role="img" aria-label={summary}>
      {ticks.map((tick, at) => (
        <g key={tick}>
          <path class="grid" d={`M${LEFT} ${Math.round(y(tick)) + 0.5}H${width - EDGE}`} />
          <text class="e" x={LEFT - 6} y={y(tick) + 4}>
            {texts[at]}
          </text>
        </g>
      ))}
      <path
        class="ft-stems"
        style={{ strokeWidth: `${Math.max(1, Math.min(12, gap - 1))}px` }}
        d={stems.map((value, at) => (Number.isFinite(value) ? `M${(LEFT + (at + 0.5) * gap).toFixed(1)} ${zero}V${y(value).toFixed(1)}` : "")).join("")}
      />
      <text x={LEFT} y={height - 6}>
        unit 0
      </text>
      <text class="e" x={width - EDGE} y={height - 6}>
        {formatCount(values.length - 1)}
      </text>
    </svg>
  );
}

function rangeEnds(values: Float32Array): number[] {
  const range = rangeOf(values);
  return range === null ? [] : [range.min, range.max];
}

function farthest(values: Float32Array, from: number, to: number): number {
  let best = values[from] ?? Number.NaN;
  for (let at = from + 1; at < to; at++) if (Math.abs(values[at]!) > Math.abs(best)) best = values[at]!;
  return best;
}

// --- Where the values of one sample stand in a picture: its planes beside each other, as large as there is
//   room for.

interface Sheet {
  /** In values. */
  readonly width: number;
  readonly height: number;
  /** Pixels of one value. */
  readonly cell: number;
  /** The place of a value in the picture, counted row by row. */
  readonly placeOf: (at: number) => number;
}

/** Between planes. */
const GAP = 1;
const LARGEST_CELL = 16;

export function sheetOf(shape: readonly number[], room: Room): Sheet {
  const columns = Math.max(1, shape.at(-1) ?? 1);
  const rows = Math.max(1, shape.at(-2) ?? 1);
  const count = Math.max(1, shape.slice(0, -2).reduce((product, size) => product * size, 1));
  const perLine = bestPerLine(count, rows, columns, room);
  const lines = Math.ceil(count / perLine);
  const width = perLine * (columns + GAP) - GAP;
  const height = lines * (rows + GAP) - GAP;
  return {
    width,
    height,
    cell: Math.min(LARGEST_CELL, room.width / width, room.height / height),
    placeOf: (at) => {
      const plane = Math.floor(at / (rows * columns));
      const [row, column] = [Math.floor((at % (rows * columns)) / columns), at % columns];
      const [line, place] = [Math.floor(plane / perLine), plane % perLine];
      return (line * (rows + GAP) + row) * width + place * (columns + GAP) + column;
    },
  };
}

/** With which values are drawn largest. */
function bestPerLine(count: number, rows: number, columns: number, room: Room): number {
  let [best, largest] = [1, 0];
  for (let perLine = 1; perLine <= count; perLine++) {
    const lines = Math.ceil(count / perLine);
    const cell = Math.min(room.width / (perLine * (columns + GAP)), room.height / (lines * (rows + GAP)));
    if (cell > largest) [best, largest] = [perLine, cell];
  }
  return best;
}
