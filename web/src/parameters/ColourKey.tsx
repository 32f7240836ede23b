/** What the colours mean: which column, and its scale. */
import { formatValue } from "../format";
import { shownRamp } from "./colouring";
import { BY_RUN, colouring, columns, rampStops } from "./sheet";
import { setColour } from "./state";

export function ColourKey() {
  const { axis } = colouring.value;
  return (
    <div class="par-key">
      <label class="check">
        Colour
        <select
          class="input sm sec-select"
          aria-label="Colour of the lines"
          value={axis?.column.key ?? BY_RUN}
          onChange={(event) => setColour(event.currentTarget.value)}
        >
          <option value={BY_RUN}>by run</option>
          {columns.value.map(({ key, name }) => (
            <option key={key} value={key}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {axis !== null && (
        <span class="par-ramp">
          <span>{axis.scale === "words" ? "" : formatValue(axis.unitAt(0), 3)}</span>
          <i style={{ background: shownRamp(rampStops.value) }} />
          <span>{axis.scale === "words" ? "" : formatValue(axis.unitAt(1), 3)}</span>
        </span>
      )}
    </div>
  );
}
