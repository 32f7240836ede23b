/** Beside the drawing: colours, search, one point with its neighbours, the selection. */
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatCount, formatNumberOf, formatValue } from "../../data/format";
import { searchTest } from "../../data/globs";
import { param, setParams } from "../../data/route";
import * as page from "../../data/store";
import { Icon } from "../../ui/Icon";
import { IconButton } from "../../ui/IconButton";
import { Select } from "../../ui/Select";
import { actOn } from "../../ui/keys";
import { MetricField } from "./ProjectorOptions";
import { byName, categoryInk, type Colouring, MOST_COLOURS, readInks } from "./colours";
import { type Column, decodeSprites } from "./embedding";
import * as selection from "./selection";
import { look, select, showAll } from "./selection";
import * as store from "./store";

export function PointsPanel() {
  const here = store.loaded.value;
  return (
    <aside class="panel points-panel" aria-label="Points">
      <div class="panel-body">
        <ColourSection columns={here?.embedding.columns ?? []} />
        {here !== null && (
          <>
            {here.embedding.columns.length > 0 && <SearchSection columns={here.embedding.columns} />}
            <FocusSection columns={here.embedding.columns} />
            <SelectionSection />
          </>
        )}
      </div>
    </aside>
  );
}

interface SectionProps {
  label: string;
  title?: string;
  /** At the right of its title. */
  aside: ComponentChildren;
  children: ComponentChildren;
}

function Section({ label, title = label, aside, children }: SectionProps) {
  return (
    <section class="section" aria-label={label}>
      <div class="row">
        <h2>{title}</h2>
        <span class="grow" />
        {aside}
      </div>
      {children}
    </section>
  );
}

interface ColumnsProps {
  columns: readonly Column[];
}

const MOST_LISTED = 200;

/** By which column points are coloured, and what the colours mean. */
function ColourSection({ columns }: ColumnsProps) {
  const colouring = store.colouring.value;
  const choice = (
    <Select
      look="input sm"
      label="Colour by"
      value={store.colourColumn.value ?? "-"}
      options={[["-", "one colour"], ...columns.map(({ name }) => [name, name] as const)]}
      set={(name) => {
        store.isolatedNames.value = new Set();
        setParams({ colour: name });
      }}
    />
  );
  return (
    <Section label="Colour" aside={columns.length > 0 && choice}>
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
      {columns.length === 0 && <p class="muted fs-1">There are no labels to colour by.</p>}
    </Section>
  );
}

function Kinds({ colouring: { names, counts } }: { colouring: Extract<Colouring, { kind: "categories" }> }) {
  const inks = useMemo(readInks, [page.themeTick.value]);
  const only = store.isolatedNames.value;
  const order = [...names.keys()].sort(
    (a, b) => Number(a >= MOST_COLOURS) - Number(b >= MOST_COLOURS) || byName(names[a]!, names[b]!),
  );
  return (
    <>
      <ul class="kinds" aria-label="Kinds">
        {order.slice(0, MOST_LISTED).map((at) => {
          const name = names[at]!;
          return (
            <li key={at}>
              <button
                class="kind"
                aria-pressed={only.has(name)}
                title={`${name}: show only these; with Shift, these too`}
                onClick={(event) => selection.isolateName(name, event.shiftKey)}
              >
                <i class="sw" style={{ background: `rgb(${categoryInk(inks, at).join()})` }} />
                <span class="grow clip">{name === "" ? "(empty)" : name}</span>
                <span class="muted">{formatCount(counts[at]!)}</span>
              </button>
            </li>
          );
        })}
      </ul>
      {names.length > MOST_COLOURS && (
        <p class="muted fs-1">
          The {MOST_COLOURS} most frequent of {formatNumberOf(names.length, "kind")} have a colour
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

/** Find points by their labels. */
function SearchSection({ columns }: ColumnsProps) {
  const query = store.query.value;
  // A column that another embedding had is no column here.
  const column = columns.find(({ name }) => name === store.queryColumn.value)?.name ?? null;
  const found = useMemo(() => findPoints(columns, column, query), [columns, column, query]);
  const { points } = found;
  const onKeyDown = (event: KeyboardEvent): boolean =>
    actOn(event, {
      Enter: points.length > 0 ? () => select(points) : undefined,
      Escape: () => setParams({ find: null }),
    });
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
            onInput={(event) => setParams({ find: event.currentTarget.value || null })}
            onKeyDown={onKeyDown}
          />
        </div>
        {columns.length > 1 && (
          <Select
            label="Search in"
            value={column ?? ""}
            options={[["", "all"], ...columns.map(({ name }) => [name, name] as const)]}
            set={(name) => setParams({ in: name || null })}
          />
        )}
      </div>
      {query.trim() !== "" && (
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
          <PointList label="Points found" points={points} textOf={(point) => textFound(found, point)} />
        </>
      )}
    </section>
  );
}

/** What was found, where it is not the label that stands there anyhow. */
function textFound(found: FoundPoints, point: number): string | undefined {
  const columns = found.columnsOf(point);
  return columns.some(({ name }) => name === store.labelColumn.value) ? undefined : columns[0]?.values[point];
}

interface FoundPoints {
  readonly points: readonly number[];
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

/** One point: all that is known of it, and the points nearest to it in the space that they were given in. */
function FocusSection({ columns }: ColumnsProps) {
  const point = store.focus.value;
  if (point === null) {
    return (
      <section class="section" aria-label="Point">
        <h2>Point</h2>
        <p class="muted fs-1">Click a point to see what is nearest to it. Shift and drag selects many.</p>
      </section>
    );
  }
  const leave = <IconButton look="btn quiet sm square" icon="close" label="Leave this point" onClick={() => look(null)} />;
  return (
    <Section label="Point" title={`Point ${point}`} aside={leave}>
      <div class="row point-facts">
        <SpriteCrop point={point} />
        <dl class="readout facts grow">
          {columns.map(({ name, values }, at) => (
            <div key={at}>
              <dt class="clip">{name}</dt>
              <dd>{values[point]}</dd>
            </div>
          ))}
        </dl>
      </div>
      <Neighbours point={point} />
    </Section>
  );
}

function Neighbours({ point }: { point: number }) {
  const list = store.neighbours.value;
  const farthest = list.at(-1)?.distance ?? 0;
  const all = [point, ...list.map((one) => one.point)];
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
        {list.map((one) => (
          <li key={one.point}>
            <PointRow {...one} share={farthest > 0 ? one.distance / farthest : 0} />
          </li>
        ))}
      </ol>
      {list.length === 0 && <p class="muted fs-1">There is no other point.</p>}
      <div class="row actions">
        <button class="btn sm" onClick={() => selection.addToSelection(all)}>
          Select these
        </button>
        <button class="btn sm" onClick={() => (store.isolated.value = all)}>
          Isolate
        </button>
      </div>
    </>
  );
}

const SIDE = 56;

/** The picture of one point, cut out of the sheet. */
function SpriteCrop({ point }: { point: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { sprites: sheet, numPoints } = store.loaded.value!.embedding;
  useEffect(() => {
    if (sheet === null) return undefined;
    let isWanted = true;
    decodeSprites(sheet, numPoints).then(
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

const MOST_IN_LIST = 30;

interface ListProps {
  label: string;
  points: readonly number[];
  /** Of another column than that of its label. */
  textOf?: (point: number) => string | undefined;
}

/** Points in a list: their labels and numbers, and how far they are where that is known. */
function PointList({ label, points, textOf }: ListProps) {
  return (
    <>
      <ul class="point-list" aria-label={label}>
        {points.slice(0, MOST_IN_LIST).map((point) => (
          <li key={point}>
            <PointRow point={point} found={textOf?.(point)} />
          </li>
        ))}
      </ul>
      {points.length > MOST_IN_LIST && <p class="muted fs-1">and {formatCount(points.length - MOST_IN_LIST)} more</p>}
    </>
  );
}

interface RowProps {
  point: number;
  distance?: number;
  /** From 0 to 1: how long its bar is. */
  share?: number;
  found?: string | undefined;
}

function PointRow({ point, distance, share, found }: RowProps) {
  return (
    <button
      class="point-row"
      aria-current={store.focus.value === point}
      onClick={() => look(point)}
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

/** The points that are selected: show only them, save them under a name, take them along. */
function SelectionSection() {
  const points = store.selected.value;
  const count = (
    <span class="muted fs-1" role="status">
      {points.length === 0 ? "none" : formatNumberOf(points.length, "point")}
    </span>
  );
  return (
    <Section label="Selection" aside={count}>
      {store.isolated.value !== null && (
        <div class="row actions">
          <span class="fs-1 muted grow">Only {formatNumberOf(store.shown.value.length, "point")} shown</span>
          <button class="btn sm" onClick={showAll}>
            Show all
          </button>
        </div>
      )}
      <Fault text={store.selectionNote.value} />
      {points.length > 0 && <Chosen points={points} />}
      {store.saved.value.size > 0 && <Saved />}
    </Section>
  );
}

function Fault({ text }: { text: string }) {
  if (text === "") return null;
  return (
    <p class="hint" role="alert">
      {text}
    </p>
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
    else clipboard.writeText(selection.indicesText(points)).then(said("Copied."), said("The browser did not allow it."));
  };
  const save = (event: Event): void => {
    event.preventDefault();
    const reason = selection.saveSelection(name);
    setFault(reason);
    if (reason === "") setName("");
  };
  return (
    <>
      <p class="mono fs-1 clip" title={selection.writeRanges(points)}>
        {selection.writeRanges(points)}
      </p>
      <div class="row actions wrapped">
        <button class="btn sm" onClick={() => (store.isolated.value = points)}>
          Isolate
        </button>
        <button class="btn sm" aria-label="Copy indices" title="Copy the indices, as a list of Python" onClick={copy}>
          Copy
        </button>
        <button class="btn sm" title="Index, labels and coordinates" onClick={() => selection.downloadPoints(points)}>
          CSV
        </button>
        <button class="btn sm quiet" onClick={() => select([])}>
          Clear
        </button>
      </div>
      <p class="muted fs-1" role="status">
        {copied}
      </p>
      <PointList label="Selected points" points={points} />
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
      <Fault text={fault} />
    </>
  );
}

function Saved() {
  return (
    <>
      <h3 class="nearest-title">Saved in this browser</h3>
      <ul class="point-list" aria-label="Saved selections">
        {[...store.saved.value].map(([name, points]) => (
          <li key={name} class="row">
            <button
              class="point-row grow"
              aria-current={name === param("selection")}
              onClick={() => {
                setParams({ selection: name });
                select(points);
              }}
            >
              <span class="grow clip">{name}</span>
              <span class="muted">{formatNumberOf(points.length, "point")}</span>
            </button>
            <button class="btn quiet sm" aria-label={`Forget ${name}`} onClick={() => selection.forgetSelection(name)}>
              ×
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}
