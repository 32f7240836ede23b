/** By which column points are coloured, and what the colours mean. */
import { useMemo } from "preact/hooks";
import { formatCount, formatNumberOf, formatValue } from "../format";
import { param, setParams } from "../route";
import * as page from "../store";
import { isolateName, showAll } from "./choosing";
import { byName, categoryInk, MOST_COLOURS, readInks, type Colouring } from "./colouring";
import * as store from "./store";

const MOST_LISTED = 200;

export function ColourSection() {
  const columns = store.loaded.value?.embedding.columns ?? [];
  const colouring = store.colouring.value;
  return (
    <section class="section" aria-label="Colour">
      <div class="row">
        <h2>Colour</h2>
        <span class="grow" />
        {columns.length > 0 && (
          <select
            class="input sm"
            aria-label="Colour by"
            value={param("colour") === "-" ? "-" : (store.colourColumn.value ?? "-")}
            onChange={(event) => {
              store.isolatedNames.value = new Set();
              setParams({ colour: event.currentTarget.value });
            }}
          >
            <option value="-">one colour</option>
            {columns.map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        )}
      </div>
      {colouring.kind === "categories" && <Kinds colouring={colouring} />}
      {colouring.kind === "numbers" && (
        <div role="img" aria-label={`Colours from ${formatValue(colouring.low)} to ${formatValue(colouring.high)}`}>
          <div class="ramp smooth points-ramp" />
          <div class="ramp-ends">
            <span>{formatValue(colouring.low)}</span>
            <span>{formatValue(colouring.high)}</span>
          </div>
        </div>
      )}
      {colouring.kind === "none" && columns.length === 0 && <p class="muted fs-1">There are no labels to colour by.</p>}
    </section>
  );
}

function Kinds({ colouring }: { colouring: Extract<Colouring, { kind: "categories" }> }) {
  const inks = useMemo(readInks, [page.themeTick.value]);
  const only = store.isolatedNames.value;
  const order = colouring.names
    .map((_, at) => at)
    .sort((a, b) => Number(a >= MOST_COLOURS) - Number(b >= MOST_COLOURS) || byName(colouring.names[a]!, colouring.names[b]!));
  const numGrey = Math.max(0, colouring.names.length - MOST_COLOURS);
  return (
    <>
      <ul class="kinds" aria-label="Kinds">
        {order.slice(0, MOST_LISTED).map((at) => {
          const name = colouring.names[at]!;
          return (
            <li key={at}>
              <button
                class="kind"
                aria-pressed={only.has(name)}
                title={`${name}: show only these; with Shift, these too`}
                onClick={(event) => isolateName(name, event.shiftKey)}
              >
                <i class="sw" style={{ background: `rgb(${categoryInk(inks, at).join()})` }} />
                <span class="grow clip">{name === "" ? "(empty)" : name}</span>
                <span class="muted">{formatCount(colouring.counts[at]!)}</span>
              </button>
            </li>
          );
        })}
      </ul>
      {numGrey > 0 && (
        <p class="muted fs-1">
          The {MOST_COLOURS} most frequent of {formatNumberOf(colouring.names.length, "kind")} have a colour
          {order.length > MOST_LISTED ? `; ${formatCount(order.length - MOST_LISTED)} are not listed` : ""}.
        </p>
      )}
      {only.size > 0 && (
        <button class="link fs-1" onClick={showAll}>
          Show all kinds
        </button>
      )}
    </>
  );
}
