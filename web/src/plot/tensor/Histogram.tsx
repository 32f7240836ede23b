/** How the values of a tensor are spread, in the colours of its picture. */
import { useState } from "preact/hooks";
import { formatCount, formatNumberOf, formatValue } from "../../data/format";
import { type Scale, stepClass } from "../../ui/colour-scale";
import type { TensorView } from "../../wire";
import { Section } from "./Facts";

const WIDTH = 320;
const HEIGHT = 58;
const LEAST = 1; // a bar of few values can still be seen

export function Histogram({ view, scale }: { view: TensorView; scale: Scale }) {
  const [isTable, setIsTable] = useState(false);
  const total = view.histogram.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  const remark = (
    <>
      {formatNumberOf(view.num_elements, "value")} ·{" "}
      <button class="link quiet" aria-pressed={isTable} onClick={() => setIsTable(!isTable)}>
        {isTable ? "show as chart" : "show as table"}
      </button>
    </>
  );
  return (
    <Section title="Histogram" remark={remark}>
      {isTable ? <BinTable view={view} /> : <Chart view={view} scale={scale} />}
    </Section>
  );
}

/** The edges of a bin. */
function binOf(view: TensorView, at: number): [from: number, to: number] {
  const { histogram_low: low, histogram_high: high, histogram } = view;
  const width = (high - low) / histogram.length;
  return [low + at * width, at === histogram.length - 1 ? high : low + (at + 1) * width];
}

function Chart({ view, scale }: { view: TensorView; scale: Scale }) {
  const { histogram, histogram_low: low, histogram_high: high } = view;
  const most = Math.max(...histogram);
  const step = WIDTH / histogram.length;
  const zero = low < 0 && high > 0 ? (-low / (high - low)) * WIDTH : null;
  return (
    <svg
      class="chart histogram"
      viewBox={`0 0 ${WIDTH} 76`}
      role="img"
      aria-label={`Histogram from ${formatValue(low)} to ${formatValue(high)}, at most ${formatCount(most)} in one of ${histogram.length} bins`}
    >
      {histogram.map((count, at) => {
        const [from, to] = binOf(view, at);
        const height = count === 0 ? 0 : Math.max(LEAST, (count / most) * (HEIGHT - 4));
        return (
          <rect
            key={at}
            class={stepClass(scale, (from + to) / 2)}
            x={at * step}
            y={HEIGHT - height}
            width={Math.max(0.5, step - (step > 3 ? 0.7 : 0))}
            height={height}
          >
            <title>{`${formatValue(from)} to ${formatValue(to)}: ${formatCount(count)}`}</title>
          </rect>
        );
      })}
      <path class="base" d={`M0 ${HEIGHT + 0.5}H${WIDTH}`} />
      {zero !== null && <path class="cursor" d={`M${zero} 4V${HEIGHT}`} />}
      <text x="0" y="72">
        {formatValue(low, 3)}
      </text>
      {zero !== null && zero > 48 && zero < WIDTH - 48 && (
        <text class="c" x={zero} y="72">
          0
        </text>
      )}
      <text class="e" x={WIDTH} y="72">
        {formatValue(high, 3)}
      </text>
    </svg>
  );
}

function BinTable({ view }: { view: TensorView }) {
  return (
    <div class="bins">
      <table class="table">
        <thead>
          <tr>
            <th class="num">from</th>
            <th class="num">to</th>
            <th class="num">values</th>
          </tr>
        </thead>
        <tbody>
          {view.histogram.map((count, at) => {
            const [from, to] = binOf(view, at);
            return (
              <tr key={at}>
                <td class="num">{formatValue(from)}</td>
                <td class="num">{formatValue(to)}</td>
                <td class="num">{formatCount(count)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
