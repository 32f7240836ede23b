/** One sample over all units of a layer: as a picture where the layer has planes, else as a line. */
import { useMemo } from "preact/hooks";
import { formatCount, formatShare, formatValue } from "../../../data/format";
import { askOf } from "../../../data/requests";
import { themeTick } from "../../../data/store";
import { useAsked } from "../../../data/useAsked";
import { Pixels } from "../../../plot/Pixels";
import { paintValue, readPalette, type Scale } from "../../../ui/colour-scale";
import { type Room, useSize } from "../../../ui/useSize";
import type { FeatureLayer, FeatureSampleAnswer } from "../../../wire";
import { Chart, Levels } from "../Figure";
import { singlesOf } from "../items";
import { EDGE, LEFT, levelsOf, Part } from "./UnitPart";
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
  const facts = value !== null && (
    <>
      {value.head.name !== String(value.head.sample) && `${value.head.name} `}
      {value.head.label !== "" && `label ${value.head.label} · `}
      {figuresOf(value.head)}
    </>
  );
  return (
    <Part name="Sample" number={sample} isBusy={value?.head.sample !== sample} problem={problem} facts={facts}>
      {value !== null && value.values.length > 0 && <Picture of={value} layer={layer} scale={scale} />}
    </Part>
  );
}

function figuresOf({ mean, std, num_zeros: zeros, num_units: all }: FeatureSampleAnswer): string {
  if (mean === null || std === null) return "no finite values";
  return `mean ${formatValue(mean, 3)}, std ${formatValue(std, 3)}, zeros ${formatShare(zeros, all)}`;
}

function Picture({ of: { head, values }, layer, scale }: { of: Sample; layer: FeatureLayer; scale: Scale }) {
  const summary = `${layer.name} for sample ${head.sample}: ${formatCount(head.num_units)} values from ${formatValue(head.low ?? Number.NaN, 3)} to ${formatValue(head.high ?? Number.NaN, 3)}.`;
  const isWhole = head.units.length === 0;
  const isFlat = head.shape.length < 2 || !isWhole;
  return isFlat ? <Line values={values} summary={summary} /> : <Planes {...{ head, values, scale, summary }} />;
}

/** Channels beside each other, as large as there is room for. */
function Planes({ head, values, scale, summary }: Sample & { scale: Scale; summary: string }) {
  const [box, room] = useSize<HTMLDivElement>();
  const tick = themeTick.value;
  const sheet = sheetOf(head.shape, room);
  const { width, height, cell } = sheet;
  const picture = useMemo(() => {
    const [pixels, palette] = [new Uint8ClampedArray(4 * width * height), readPalette(scale.map)];
    for (let at = 0; at < values.length; at++) paintValue(pixels, 4 * sheet.placeOf(at), values[at]!, scale, palette);
    return { width, height, pixels };
  }, [values, scale.low, scale.high, scale.map, tick, width, height]);
  return (
    <div class="an-room" ref={box}>
      {cell > 0 && (
        <Pixels picture={picture} class="ft-planes" role="img" aria-label={summary} style={{ width: `${width * cell}px`, height: `${height * cell}px` }} />
      )}
    </div>
  );
}

function Line({ values, summary }: { values: Float32Array; summary: string }) {
  return (
    <Chart
      summary={summary}
      draw={(width, height) => {
        const levels = levelsOf(values, height);
        const zero = Math.round(levels.y(0)) + 0.5;
        // A stem for each; of more than there are pixels, the farthest from nought of each pixel.
        const room = Math.max(1, width - LEFT - EDGE);
        const count = Math.min(values.length, Math.floor(room));
        const gap = room / count;
        const from = (at: number): number => Math.floor((at * values.length) / count);
        const stems = Array.from({ length: count }, (_, at) => farthest(values, from(at), from(at + 1)));
        const picture = (
          <>
            <Levels {...levels} most={4} left={LEFT} right={width - EDGE} />
            <path
              class="ft-stems"
              style={{ strokeWidth: `${Math.max(1, Math.min(12, gap - 1))}px` }}
              d={stems.map((value, at) => (Number.isFinite(value) ? `M${(LEFT + (at + 0.5) * gap).toFixed(1)} ${zero}V${levels.y(value).toFixed(1)}` : "")).join("")}
            />
            <text x={LEFT} y={height - 6}>
              unit 0
            </text>
            <text class="e" x={width - EDGE} y={height - 6}>
              {formatCount(values.length - 1)}
            </text>
          </>
        );
        return { picture };
      }}
    />
  );
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
