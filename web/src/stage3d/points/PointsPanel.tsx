/** Beside the drawing: colours, search, one point with its neighbours, the selection. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatCount, formatNumberOf, formatValue } from "../../data/format";
import { searchTest } from "../../data/globs";
import { param, setParams } from "../../data/route";
import * as page from "../../data/store";
import { Icon } from "../../ui/Icon";
import { MetricField } from "./ProjectorOptions";
import { byName, categoryInk, type Colouring, MOST_COLOURS, readInks } from "./colours";
import { type Column, decodeSprites } from "./embedding";
import {
  addToSelection,
  downloadPoints,
  forgetSelection,
  indicesText,
  isolate,
  isolateName,
  look,
  saveSelection,
  select,
  showAll,
  writeRanges,
} from "./selection";
import * as store from "./store";

export function PointsPanel() {
  return (
    <aside class="panel points-panel" aria-label="Points">
      <div class="panel-body">
        <ColourSection />
        <SearchSection />
        <FocusSection />
        <SelectionSection />
      </div>
    </aside>
  );
}

// --- By which column points are coloured, and what the colours mean.

const MOST_LISTED = 200;

function ColourSection() {
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

// --- Find points by their labels.

const MOST_FOUND = 30;

function SearchSection() {
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
        {points.slice(0, MOST_FOUND).map((point) => (
          <li key={point}>
            <PointRow point={point} found={textFound(found, point)} onChoose={look} />
          </li>
        ))}
      </ul>
      {points.length > MOST_FOUND && (
        <p class="muted fs-1">and {formatCount(points.length - MOST_FOUND)} more</p>
      )}
    </>
  );
}

// --- Find points by the text of their labels.

interface FoundPoints {
  readonly points: readonly number[];
  /** The columns in which a point was found. */
  readonly columnsOf: (point: number) => readonly Column[];
}

/** In one column or, for null, in all of them. */
export function findPoints(columns: readonly Column[], column: string | null, query: string): FoundPoints {
  const text = query.trim();
  if (text === "") return { points: [], columnsOf: () => [] };
  const test = searchTest(text);
  const searched = columns.filter(({ name }) => column === null || name === column);
  const numPoints = columns[0]?.values.length ?? 0;
  const points: number[] = [];
  for (let point = 0; point < numPoints; point++) {
    if (searched.some(({ values }) => test(values[point]!))) points.push(point);
  }
  return { points, columnsOf: (point) => searched.filter(({ values }) => test(values[point]!)) };
}

// --- One point: all that is known of it, and the points nearest to it in the space that they were given in.

function FocusSection() {
  const [here, point] = [store.loaded.value, store.focus.value];
  if (here === null) return null;
  if (point === null)
    return (
      <section class="section" aria-label="Point">
        <h2>Point</h2>
        <p class="muted fs-1">Click a point to see what is nearest to it. Shift and drag selects many.</p>
      </section>
    );
  return (
    <section class="section" aria-label="Point">
      <div class="row">
        <h2>Point {point}</h2>
        <span class="grow" />
        <button class="btn quiet sm square" aria-label="Leave this point" onClick={() => look(null)}>
          <Icon name="close" />
        </button>
      </div>
      <div class="row point-facts">
        <SpriteCrop point={point} />
        <dl class="readout facts grow">
          {here.embedding.columns.map(({ name, values }, at) => (
            <div key={at}>
              <dt class="clip">{name}</dt>
              <dd>{values[point]}</dd>
            </div>
          ))}
        </dl>
      </div>
      <Neighbours />
    </section>
  );
}

function Neighbours() {
  const list = store.neighbours.value;
  const farthest = list.at(-1)?.distance ?? 0;
  const points = list.map((one) => one.point);
  return (
    <>
      <h3 class="nearest-title">Nearest in all dimensions</h3>
      <MetricField />
      <div class="projector-field">
        <label for="num-neighbours">How many</label>
        <div class="row">
          <input
            id="num-neighbours"
            class="grow"
            type="range"
            min={1}
            max={100}
            value={store.numNeighbours.value}
            onInput={(event) => setParams({ k: event.currentTarget.value })}
          />
          <output class="num">{store.numNeighbours.value}</output>
        </div>
      </div>
      <ol class="point-list" aria-label="Nearest points">
        {list.map(({ point, distance }) => (
          <li key={point}>
            <PointRow
              point={point}
              distance={distance}
              share={farthest > 0 ? distance / farthest : 0}
              onChoose={look}
            />
          </li>
        ))}
      </ol>
      {list.length === 0 && <p class="muted fs-1">There is no other point.</p>}
      <div class="row actions">
        <button class="btn sm" onClick={() => addToSelection([store.focus.peek()!, ...points])}>
          Select these
        </button>
        <button class="btn sm" onClick={() => isolate([store.focus.peek()!, ...points])}>
          Isolate
        </button>
      </div>
    </>
  );
}

// --- The picture of one point, cut out of the sheet.

const SIDE = 56;

function SpriteCrop({ point }: { point: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const embedding = store.loaded.value?.embedding;
  const sheet = embedding?.sprites ?? null;
  useEffect(() => {
    if (sheet === null || embedding === undefined) return undefined;
    let isWanted = true;
    decodeSprites(sheet, embedding.numPoints).then(
      ({ image }) => {
        const context = canvas.current?.getContext("2d");
        if (isWanted && context != null) {
          const [x, y] = [(point % sheet.perRow) * sheet.width, Math.floor(point / sheet.perRow) * sheet.height];
          context.clearRect(0, 0, sheet.width, sheet.height);
          context.drawImage(image, x, y, sheet.width, sheet.height, 0, 0, sheet.width, sheet.height);
        }
        image.close();
      },
      () => undefined, // the drawing says why
    );
    return () => {
      isWanted = false;
    };
  }, [sheet, point]);
  if (sheet === null) return null;
  const scale = SIDE / Math.max(sheet.width, sheet.height);
  return (
    <canvas
      ref={canvas}
      class="sprite-crop"
      role="img"
      aria-label={`Picture of point ${point}`}
      width={sheet.width}
      height={sheet.height}
      style={{ width: `${sheet.width * scale}px`, height: `${sheet.height * scale}px` }}
    />
  );
}

// --- A point in a list: its label and its number, and how far it is where that is known.

interface Props {
  point: number;
  distance?: number;
  /** From 0 to 1: how long its bar is. */
  share?: number;
  /** Of another column than that of its label. */
  found?: string | undefined;
  onChoose: (point: number) => void;
}

export function PointRow({ point, distance, share, found, onChoose }: Props) {
  return (
    <button
      class="point-row"
      aria-current={store.focus.value === point}
      onClick={() => onChoose(point)}
      onMouseEnter={() => (store.hovered.value = point)}
      onMouseLeave={() => (store.hovered.value = null)}
      onFocus={() => (store.hovered.value = point)}
    >
      <span class="grow clip">{store.labelOf(point)}</span>
      {found !== undefined && <span class="clip">{found}</span>}
      <span class="muted">{point}</span>
      {distance !== undefined && <span class="num">{formatValue(distance, 3)}</span>}
      {share !== undefined && <i class="way" style={{ width: `${share * 100}%` }} />}
    </button>
  );
}

// --- The points that are selected: show only them, save them under a name, take them along.

const MOST_SELECTED = 30;

function SelectionSection() {
  if (store.loaded.value === null) return null;
  const points = store.selected.value;
  return (
    <section class="section" aria-label="Selection">
      <div class="row">
        <h2>Selection</h2>
        <span class="grow" />
        <span class="muted fs-1" role="status">
          {points.length === 0 ? "none" : formatNumberOf(points.length, "point")}
        </span>
      </div>
      <Isolation />
      {store.selectionNote.value !== "" && (
        <p class="hint" role="alert">
          {store.selectionNote.value}
        </p>
      )}
      {points.length > 0 && <Chosen points={points} />}
      <Saved />
    </section>
  );
}

function Isolation() {
  if (store.isolated.value === null) return null;
  return (
    <div class="row actions">
      <span class="fs-1 muted grow">Only {formatNumberOf(store.shown.value.length, "point")} shown</span>
      <button class="btn sm" onClick={showAll}>
        Show all
      </button>
    </div>
  );
}

function Chosen({ points }: { points: readonly number[] }) {
  const [copied, setCopied] = useState("");
  const [name, setName] = useState("");
  const [fault, setFault] = useState("");
  const copy = (): void => {
    const said = (text: string) => (): void => setCopied(text);
    // Pages that did not come from this machine may have no clipboard.
    const { clipboard } = navigator as { clipboard?: Clipboard };
    if (clipboard === undefined) setCopied("This page may not use the clipboard: download them instead.");
    else clipboard.writeText(indicesText(points)).then(said("Copied."), said("The browser did not allow it."));
  };
  const save = (event: Event): void => {
    event.preventDefault();
    const reason = saveSelection(name);
    setFault(reason);
    if (reason === "") setName("");
  };
  return (
    <>
      <p class="mono fs-1 clip" title={writeRanges(points)}>
        {writeRanges(points)}
      </p>
      <div class="row actions wrapped">
        <button class="btn sm" onClick={() => isolate(points)}>
          Isolate
        </button>
        <button class="btn sm" aria-label="Copy indices" title="Copy the indices, as a list of Python" onClick={copy}>
          Copy
        </button>
        <button class="btn sm" title="Index, labels and coordinates" onClick={() => downloadPoints(points)}>
          CSV
        </button>
        <button class="btn sm quiet" onClick={() => select([])}>
          Clear
        </button>
      </div>
      <p class="muted fs-1" role="status">
        {copied}
      </p>
      <ul class="point-list" aria-label="Selected points">
        {points.slice(0, MOST_SELECTED).map((point) => (
          <li key={point}>
            <PointRow point={point} onChoose={look} />
          </li>
        ))}
      </ul>
      {points.length > MOST_SELECTED && <p class="muted fs-1">and {points.length - MOST_SELECTED} more</p>}
      <form class="row actions" onSubmit={save}>
        <input
          class="input sm grow"
          type="text"
          placeholder="Name of the selection"
          aria-label="Name of the selection"
          maxLength={80}
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
        <button class="btn sm" type="submit" disabled={name.trim() === ""}>
          Save
        </button>
      </form>
      {fault !== "" && (
        <p class="hint" role="alert">
          {fault}
        </p>
      )}
    </>
  );
}

function Saved() {
  const names = [...store.saved.value];
  if (names.length === 0) return null;
  const now = param("selection");
  return (
    <>
      <h3 class="nearest-title">Saved in this browser</h3>
      <ul class="point-list" aria-label="Saved selections">
        {names.map(([name, points]) => (
          <li key={name} class="row">
            <button
              class="point-row grow"
              aria-current={name === now}
              onClick={() => {
                setParams({ selection: name });
                select(points);
              }}
            >
              <span class="grow clip">{name}</span>
              <span class="muted">{formatNumberOf(points.length, "point")}</span>
            </button>
            <button class="btn quiet sm" aria-label={`Forget ${name}`} onClick={() => forgetSelection(name)}>
              ×
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}
