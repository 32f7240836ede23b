/** Find points by their labels. */
import { useMemo } from "preact/hooks";
import { formatCount, formatNumberOf } from "../format";
import { setParams } from "../route";
import { Icon } from "../shell/Icon";
import { look, select } from "./choosing";
import type { Column } from "./embedding";
import { PointRow } from "./PointRow";
import { findPoints, type FoundPoints } from "./searching";
import * as store from "./store";

const MOST_LISTED = 30;

export function SearchSection() {
  const query = store.query.value;
  const embedding = store.loaded.value?.embedding;
  const columns = embedding?.columns ?? [];
  const column = columnIn(columns, store.queryColumn.value);
  const found = useMemo(() => findPoints(columns, column, query), [columns, column, query]);
  if (columns.length === 0) return null;
  const { points } = found;
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && points.length > 0) select(points);
    else if (event.key === "Escape") setParams({ find: null });
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <section class="section" aria-label="Search">
      <div class="row search-row">
        <div class="search grow" role="search">
          <Icon name="search" />
          <input
            class="input"
            type="text"
            placeholder="Find"
            title="A part of a label; * is any text, ? one character, ^ the beginning, $ the end, | or"
            aria-label="Find points"
            autocomplete="off"
            spellcheck={false}
            value={query}
            onInput={(event) => setParams({ find: orNull(event.currentTarget.value) })}
            onKeyDown={onKeyDown}
          />
        </div>
        {columns.length > 1 && (
          <select
            class="input"
            aria-label="Search in"
            value={column ?? ""}
            onChange={(event) => setParams({ in: orNull(event.currentTarget.value) })}
          >
            <option value="">all</option>
            {columns.map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        )}
      </div>
      {query.trim() !== "" && <PointsFound found={found} />}
    </section>
  );
}

/** A column that another embedding had is no column here. */
function columnIn(columns: readonly Column[], wanted: string): string | null {
  return columns.find(({ name }) => name === wanted)?.name ?? null;
}

function orNull(text: string): string | null {
  return text === "" ? null : text;
}

/** What was found, where it is not the label that stands there anyhow. */
function textFound(found: FoundPoints, point: number): string | undefined {
  const columns = found.columnsOf(point);
  return columns.some(({ name }) => name === store.labelColumn.value) ? undefined : columns[0]?.values[point];
}

function PointsFound({ found }: { found: FoundPoints }) {
  const { points } = found;
  return (
    <>
      <div class="row found-row">
        <span class="muted fs-1" role="status">
          {points.length === 0 ? "none found" : `${formatNumberOf(points.length, "point")} found`}
        </span>
        <span class="grow" />
        {points.length > 0 && (
          <button class="btn sm" onClick={() => select(points)}>
            Select
          </button>
        )}
      </div>
      <ul class="point-list" aria-label="Points found">
        {points.slice(0, MOST_LISTED).map((point) => (
          <li key={point}>
            <PointRow point={point} found={textFound(found, point)} onChoose={look} />
          </li>
        ))}
      </ul>
      {points.length > MOST_LISTED && (
        <p class="muted fs-1">and {formatCount(points.length - MOST_LISTED)} more</p>
      )}
    </>
  );
}
