/** The values of a chart at the cursor, beside its title: a swatch and a number for each line. */
import type { ReadonlySignal } from "@preact/signals";
import { formatValue } from "../format";
import { colourOf } from "../runs/store";
import type { Line, Model } from "./model";
import { describeReading, readingsAt } from "./readings";
import { placeOfCursor } from "./state";

interface Props {
  model: ReadonlySignal<Model | null>;
  chartKey: string;
  /** As many as there is room for. */
  most: number;
  /** Is there room for the names of the lines? */
  isNamed: boolean;
}

export function ChartValues({ model, chartKey, most, isNamed }: Props) {
  const now = model.value;
  if (now === null) return null;
  const readings = readingsAt(now, placeOfCursor(chartKey));
  const shown = readings.length > most ? readings.slice(0, Math.max(1, most - 1)) : readings;
  const hidden = readings.slice(shown.length);
  return (
    <span class={isNamed ? "chart-values named" : "chart-values"}>
      {shown.map((reading) => (
        <span key={reading.line.key} title={describeReading(reading, now.isSmoothed)}>
          <Sample line={reading.line} isWide={isNamed} />
          {isNamed && <span class="clip">{reading.line.label}</span>}
          {formatValue(reading.value, 3)}
        </span>
      ))}
      {hidden.length > 0 && (
        <span class="muted" title={hidden.map((one) => describeReading(one, now.isSmoothed)).join("\n")}>
          +{hidden.length}
        </span>
      )}
    </span>
  );
}

/** The colour of a line, and its dashes where there is room. */
function Sample({ line, isWide }: { line: Line; isWide: boolean }) {
  const colour = colourOf(line.run.id);
  if (!isWide) return <i class="sw" style={{ background: colour }} />;
  return (
    <svg class="line-sample" viewBox="0 0 20 8" aria-hidden="true">
      <path d="M0 4H20" style={{ stroke: colour }} stroke-dasharray={line.dash.join(" ")} />
    </svg>
  );
}
