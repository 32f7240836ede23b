/** Which columns the table of runs has. */
import { useState } from "preact/hooks";
import { Icon } from "../shell/Icon";
import { Popover } from "../shell/Popover";
import { FIXED, metricNames, resetColumns, shownFixed, shownMetrics, showFixed, showMetric } from "./columns";

/** Beyond these a name has to be typed. */
const MANY = 12;
const MOST = 60;

export function ColumnChooser() {
  return (
    <Popover
      label="Columns"
      button={
        <>
          <Icon name="columns" />
          Columns
        </>
      }
    >
      <div class="column-list">
        <h3>Columns</h3>
        {FIXED.map(({ id, title }) => (
          <Box
            key={id}
            name={title}
            isShown={shownFixed.value.has(id)}
            onChange={(is) => showFixed(id, is)}
          />
        ))}
        <Metrics />
        <button class="link fs-1" onClick={resetColumns}>
          As at first
        </button>
      </div>
    </Popover>
  );
}

function Metrics() {
  const [text, setText] = useState("");
  const names = metricNames.value;
  const found = names.filter((name) => name.toLowerCase().includes(text.toLowerCase()));
  return (
    <>
      <h3>Metrics</h3>
      {names.length === 0 && <span class="muted fs-2">No run has logged any number yet.</span>}
      {names.length > MANY && (
        <input
          class="input sm wide"
          placeholder="Find a metric"
          aria-label="Find a metric"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      )}
      {found.slice(0, MOST).map((name) => (
        <Box
          key={name}
          name={name}
          isShown={shownMetrics.value.includes(name)}
          onChange={(is) => showMetric(name, is)}
        />
      ))}
      {found.length > MOST && (
        <span class="muted fs-1">and {found.length - MOST} more: type a part of a name</span>
      )}
    </>
  );
}

function Box({
  name,
  isShown,
  onChange,
}: {
  name: string;
  isShown: boolean;
  onChange: (is: boolean) => void;
}) {
  return (
    <label class="check" title={name}>
      <input type="checkbox" checked={isShown} onChange={(event) => onChange(event.currentTarget.checked)} />
      <span class="clip">{name}</span>
    </label>
  );
}
