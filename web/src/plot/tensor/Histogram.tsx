/** How values are spread, as bars in the colours of their picture, and the same in rows. */
import { formatCount, formatNumberOf, formatValue } from "../../data/format";
import { type Scale, stepClass } from "../../ui/colour-scale";
import { useWidth } from "../../ui/useWidth";
import type { TensorView } from "../../wire";
import { TableTwin } from "../SmallChart";
import type { Span } from "../ticks";
import { TwinSection } from "./Facts";

export interface Bar {
  readonly from: number;
  readonly to: number;
  readonly count: number;
  /** From 0 to 1, against the fullest bar. */
  readonly height: number;
}

export function Histogram({ view, scale }: { view: TensorView; scale: Scale }) {
  const { histogram, histogram_low: low, histogram_high: high } = view;
  const most = Math.max(0, ...histogram);
  if (most === 0) return null;
  const width = (high - low) / histogram.length;
  const bars = histogram.map((count, at) => ({
    from: low + at * width,
    to: at === histogram.length - 1 ? high : low + (at + 1) * width,
    count,
    height: count / most,
  }));
  return (
    <TwinSection
      title="Histogram"
      remark={`${formatNumberOf(view.num_elements, "value")} ·`}
      table={
        <TableTwin
          label="Histogram"
          heads={["from", "to", "values"]}
          rows={bars.map(({ from, to, count }) => [formatValue(from), formatValue(to), formatCount(count)])}
        />
      }
      chart={
        <Bars
          bars={bars}
          span={{ low, high }}
          scale={scale}
          height={58}
          label={`Histogram from ${formatValue(low)} to ${formatValue(high)}, at most ${formatCount(most)} in one of ${bars.length} bins`}
        />
      }
    />
  );
}

interface BarsProps {
  bars: readonly Bar[];
  span: Span;
  scale: Scale;
  height: number;
  label: string;
  /** Does it take all of the width, however wide that is? */
  isWide?: boolean;
  said?: (count: number) => string;
}

export function Bars({ bars, span, scale, height, label, isWide = false, said = formatCount }: BarsProps) {
  const [box, width] = useWidth<HTMLDivElement>(320);
  // Halved: the distance between the ends may be no number.
  const x = (value: number): number => ((value / 2 - span.low / 2) / (span.high / 2 - span.low / 2)) * width;
  const zero = span.low < 0 && span.high > 0 ? x(0) : null;
  return (
    <div ref={box} class={isWide ? "chart wide-bars" : "chart"}>
      <svg width={width} height={height + 18} role="img" aria-label={label}>
        {bars.map(({ from, to, count, height: share }, at) => {
          // What is there at all is seen.
          const high = count > 0 ? Math.max(1, share * (height - 4)) : 0;
          // Where all values are one, its bar takes the whole width.
          const edge = (value: number, nth: number): number => (span.low < span.high ? x(value) : (nth / bars.length) * width);
          const left = edge(from, at);
          const wide = edge(to, at + 1) - left;
          return (
            <rect
              key={at}
              class={stepClass(scale, from / 2 + to / 2)}
              x={left}
              y={height - high}
              width={Math.max(0.5, wide - (wide > 3 ? 0.7 : 0))}
              height={high}
            >
              <title>{`${formatValue(from)} to ${formatValue(to)}: ${said(count)}`}</title>
            </rect>
          );
        })}
        <path class="base" d={`M0 ${height + 0.5}H${width}`} />
        {zero !== null && <path class="cursor" d={`M${zero} 4V${height}`} />}
        <text x="0" y={height + 14}>
          {formatValue(span.low, 3)}
        </text>
        {zero !== null && zero > 48 && zero < width - 48 && (
          <text class="c" x={zero} y={height + 14}>
            0
          </text>
        )}
        <text class="e" x={width} y={height + 14}>
          {formatValue(span.high, 3)}
        </text>
      </svg>
    </div>
  );
}
