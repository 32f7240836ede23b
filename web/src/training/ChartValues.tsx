/** The values of a chart at the cursor, or the last ones, beside its title: a swatch and a number for each line. */
import type { ReadonlySignal } from "@preact/signals";
import { formatValue } from "../format";
import { textWidth } from "../inspector/textWidth";
import { fitting, type Shown } from "./headroom";
import { colourOfLine, type Line, type Model } from "./model";
import { describeReading, readingsAt } from "./readings";
import { placeOfCursor } from "./state";

interface Props {
  model: ReadonlySignal<Model | null>;
  chartKey: string;
  title: string;
  /** Of the whole head, in pixels. */
  width: number;
  /** Is there room for all, and for the names of the lines? */
  isNamed: boolean;
}

/** The title is larger than the numbers, and bolder. */
const TITLE_FACTOR = 1.15;

export function ChartValues({ model, chartKey, title, width, isNamed }: Props) {
  const now = model.value;
  if (now === null) return null;
  const place = placeOfCursor(chartKey);
  const readings = readingsAt(now, place).map((reading) => ({
    reading,
    value: formatValue(reading.value, 3),
    // The last value is what was reached; the line shows how it got there.
    smoothed: place === null || reading.smoothed === null ? "" : formatValue(reading.smoothed, 3),
  }));
  const all: Shown = { count: readings.length, withSmoothed: true };
  const { count, withSmoothed } = isNamed ? all : fitting(width, TITLE_FACTOR * textWidth(title), readings, textWidth);
  const hidden = readings.slice(count);
  return (
    <span class={isNamed ? "chart-values named" : "chart-values"}>
      {readings.slice(0, count).map(({ reading, value, smoothed }) => (
        <span key={reading.line.key} title={describeReading(reading)}>
          <Sample line={reading.line} isWide={isNamed} />
          {isNamed && <span class="clip">{reading.line.label}</span>}
          <span class={Number.isFinite(reading.value) ? "logged" : "logged bad"}>{value}</span>
          {withSmoothed && smoothed !== "" && <span class="muted">{smoothed}</span>}
        </span>
      ))}
      {hidden.length > 0 && (
        <span class="muted" title={hidden.map(({ reading }) => describeReading(reading)).join("\n")}>
          +{hidden.length}
        </span>
      )}
    </span>
  );
}

/** The colour of a line, and its dashes where there is room. */
function Sample({ line, isWide }: { line: Line; isWide: boolean }) {
  const colour = colourOfLine(line);
  if (!isWide) return <i class="sw" style={{ background: colour }} />;
  return (
    <svg class="line-sample" viewBox="0 0 20 8" aria-hidden="true">
      <path d="M0 4H20" style={{ stroke: colour }} stroke-dasharray={line.dash.join(" ")} />
    </svg>
  );
}
