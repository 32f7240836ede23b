/** Beside the drawing: colours, search, one point with its neighbours, the selection. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatCount, formatNumberOf, formatShare, formatValue } from "../../data/format";
import { searchTest } from "../../data/globs";
import { param, setParams } from "../../data/route";
import * as page from "../../data/store";
import { Hint } from "../../ui/Blank";
import { Check } from "../../ui/Check";
import { Icon } from "../../ui/Icon";
import { IconButton } from "../../ui/IconButton";
import { Select, SelectField } from "../../ui/Select";
import { Segments } from "../../ui/controls";
import { actOn } from "../../ui/keys";
import { byName, categoryInk, type Colouring, MOST_COLOURS, readInks } from "./colours";
import { type Column, decodeSprites, isReduced } from "./embedding";
import { look, select, showAll } from "./store";
import * as store from "./store";

export function PointsPanel() {
  return (
    <aside class="panel points-panel" aria-label="Points">
      <div class="panel-body">
        <ColourSection />
        {store.columns.value.length > 0 && <SearchSection />}
        {store.loaded.value !== null && (
          <>
            <FocusSection />
            <SelectionSection />
          </>
        )}
      </div>
    </aside>
  );
}

// --- By which column points are coloured, and what the colours mean.

const MOST_LISTED = 200;

function ColourSection() {
  const columns = store.columns.value;
  const colouring = store.colouring.value;
  const choice = (
    <Select
      look="input sm"
      label="Colour by"
      value={store.colourColumn.value ?? "-"}
      options={columnOptions("-", "one colour")}
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
                onClick={(event) => store.isolateName(name, event.shiftKey)}
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
        <Act act={showAll} look="link fs-1">
          Show all kinds
        </Act>
      )}
    </>
  );
}

// --- Find points by their labels.

function SearchSection() {
  const columns = store.columns.value;
  const query = param("find");
  // A column that another embedding had is no column here.
  const column = columns.find(({ name }) => name === param("in"))?.name ?? null;
  const { points, columnsOf } = useMemo(() => findPoints(columns, column, query), [columns, column, query]);
  /** What was found, where it is not the label that stands there anyhow. */
  const textFound = (point: number): string | undefined => {
    const found = columnsOf(point);
    return found.some(({ name }) => name === store.labelColumn.value) ? undefined : found[0]?.values[point];
  };
  const selectThem = points.length > 0 ? () => select(points) : undefined;
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
            onKeyDown={(event) => actOn(event, { Enter: selectThem, Escape: () => setParams({ find: null }) })}
          />
        </div>
        {columns.length > 1 && (
          <Select label="Search in" value={column ?? ""} options={columnOptions("", "all")} set={(name) => setParams({ in: name || null })} />
        )}
      </div>
      {query.trim() !== "" && (
        <>
          <div class="row found-row">
            <span class="muted fs-1" role="status">
              {points.length === 0 ? "none found" : `${formatNumberOf(points.length, "point")} found`}
            </span>
            <span class="grow" />
            {selectThem !== undefined && <Act act={selectThem}>Select</Act>}
          </div>
          <PointList label="Points found" points={points} textOf={textFound} />
        </>
      )}
    </section>
  );
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

// --- One point: all that is known of it, and the points nearest to it in the space that they were given in.

function FocusSection() {
  const point = store.focus.value;
  if (point === null) {
    return (
      <Section label="Point">
        <p class="muted fs-1">Click a point to see what is nearest to it. Shift and drag selects many.</p>
      </Section>
    );
  }
  const leave = <IconButton look="btn quiet sm square" icon="close" label="Leave this point" onClick={() => look(null)} />;
  return (
    <Section label="Point" title={`Point ${point}`} aside={leave}>
      <div class="row point-facts">
        <SpriteCrop point={point} />
        <dl class="readout facts grow">
          {store.columns.value.map(({ name, values }, at) => (
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
      <Field name="How many">
        <div class="row">
          <input
            class="grow"
            type="range"
            aria-label="How many"
            min={1}
            max={100}
            value={store.numNeighbours.value}
            onInput={(event) => setParams({ k: event.currentTarget.value })}
          />
          <output class="num">{store.numNeighbours.value}</output>
        </div>
      </Field>
      <ol class="point-list" aria-label="Nearest points">
        {list.map((one) => (
          <li key={one.point}>
            <PointRow {...one} share={farthest > 0 ? one.distance / farthest : 0} />
          </li>
        ))}
      </ol>
      {list.length === 0 && <p class="muted fs-1">There is no other point.</p>}
      <div class="row actions">
        <Act act={() => store.addToSelection(all)}>Select these</Act>
        <Act act={() => (store.isolated.value = all)}>Isolate</Act>
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
          <Act act={showAll}>Show all</Act>
        </div>
      )}
      <Hint text={store.selectionNote.value} />
      {points.length > 0 && <Chosen points={points} />}
      {store.saved.value.size > 0 && <Saved />}
    </Section>
  );
}

function Act({ act, look = "btn sm", ...rest }: { act: () => void; look?: string } & JSX.IntrinsicElements["button"]) {
  return <button class={look} onClick={act} {...rest} />;
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
    else clipboard.writeText(store.indicesText(points)).then(said("Copied."), said("The browser did not allow it."));
  };
  const save = (event: Event): void => {
    event.preventDefault();
    const reason = store.saveSelection(name);
    setFault(reason);
    if (reason === "") setName("");
  };
  return (
    <>
      <p class="mono fs-1 clip" title={store.writeRanges(points)}>
        {store.writeRanges(points)}
      </p>
      <div class="row actions wrapped">
        <Act act={() => (store.isolated.value = points)}>Isolate</Act>
        <Act act={copy} aria-label="Copy indices" title="Copy the indices, as a list of Python">
          Copy
        </Act>
        <Act act={() => store.downloadPoints(points)} title="Index, labels and coordinates">
          CSV
        </Act>
        <Act act={() => select([])} look="btn sm quiet">
          Clear
        </Act>
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
      <Hint text={fault} />
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
            <Act act={() => store.forgetSelection(name)} aria-label={`Forget ${name}`} look="btn quiet sm">
              ×
            </Act>
          </li>
        ))}
      </ul>
    </>
  );
}

// --- Which embedding, on which axes, and how its points are drawn.

interface SectionProps {
  label: string;
  title?: string;
  /** At the right of its title. */
  aside?: ComponentChildren;
  children: ComponentChildren;
}

function Section({ label, title = label, aside, children }: SectionProps) {
  const head = <h2>{title}</h2>;
  return (
    <section class="section" aria-label={label}>
      {aside === undefined ? (
        head
      ) : (
        <div class="row">
          {head}
          <span class="grow" />
          {aside}
        </div>
      )}
      {children}
    </section>
  );
}

/** A name at the left of what is chosen. */
function Field({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <label class="projector-field">
      <span>{name}</span>
      {children}
    </label>
  );
}

/** All columns, after what stands for none of them. */
function columnOptions(none: string, title: string): (readonly [string, string])[] {
  return [[none, title], ...store.columns.value.map(({ name }) => [name, name] as const)];
}

export function ProjectorOptions() {
  const embedding = store.loaded.value?.embedding;
  const places = store.places.value;
  const now = store.place.value;
  const isOne = new Set(places.map(({ runId }) => runId)).size === 1;
  return (
    <>
      <Section label="Embedding">
        <Select
          look="input wide"
          label="Embedding"
          value={now === null ? "" : store.keyOf(now)}
          options={places.map((one) => [store.keyOf(one), isOne ? one.name : `${one.name} · ${one.runName}`])}
          set={(key) => store.choosePlace(places.find((one) => store.keyOf(one) === key)!)}
        />
        {embedding !== undefined && (
          <p class="muted fs-1 projector-facts">
            {formatCount(embedding.numPoints)} points · {formatCount(embedding.numDims)} dimensions
          </p>
        )}
      </Section>
      <DrawingOptions />
    </>
  );
}

/** On which axes, and how: whatever the points come from. */
export function DrawingOptions() {
  return (
    <>
      <Section label="Reduction">
        <Segments label="Method" {...store.method} choose={chooseMethod} isWide />
        {store.method.chosen === "pca" || !isReduced() ? <Components /> : null}
        {store.method.chosen !== "pca" && <Neighbourhood />}
      </Section>
      <Section label="Points">
        <LabelSelect />
        {store.loaded.value?.embedding.sprites != null && (
          <OneOf label="Pictures" words={SPRITE_MODES} chosen={store.spriteMode.value} choose={(mode) => (store.spriteMode.value = mode)} />
        )}
        <Check isOn={store.isTable.value} set={(isOn) => (store.isTable.value = isOn)}>
          Show as table
        </Check>
      </Section>
    </>
  );
}

function chooseMethod(method: store.Method): void {
  if (store.reducing.peek()?.state === "failed") store.reducing.value = null;
  setParams({ method: method === "pca" ? null : method, near: null });
}

const AXIS_NAMES = ["X", "Y", "Z"];

/** Which component goes where, each with its share of the variance. */
function Components() {
  const found = store.coordinates.value;
  if (found?.method !== "pca") return null;
  const axes = store.axes.value;
  const total = axes.reduce((sum, axis) => sum + (found.shares[axis] ?? 0), 0);
  const componentName = (one: number): string => {
    const share = found.shares[one];
    return share === undefined ? `PC ${one + 1}` : `PC ${one + 1} · ${formatShare(share, 1)}`;
  };
  const choose = (at: number, axis: number): void =>
    setParams({ axes: axes.map((one, nth) => (nth === at ? axis : one)).join(",") });
  return (
    <div class="projector-fields">
      {axes.map((axis, at) => (
        <SelectField
          key={at}
          style="projector-field"
          look="input sm"
          name={AXIS_NAMES[at]!}
          label={`Component of ${AXIS_NAMES[at]!}`}
          value={String(axis)}
          options={Array.from({ length: found.perPoint }, (_, one) => [String(one), componentName(one)])}
          set={(one) => choose(at, Number(one))}
        />
      ))}
      {found.shares.length > 0 && (
        <div class="projector-field">
          <span>Variance</span>
          <div class="row">
            <div class="bar grow" role="img" aria-label={`Variance explained: ${formatShare(total, 1)}`}>
              <i style={{ width: `${total * 100}%` }} />
            </div>
            <output>{formatShare(total, 1)}</output>
          </div>
        </div>
      )}
      {store.records.value.length > 1 && (
        <Check isOn={store.holdAxes.value} set={(isOn) => (store.holdAxes.value = isOn)}>
          Same axes at every step
        </Check>
      )}
      {found.note !== "" && <p class="muted fs-1">{found.note}</p>}
    </div>
  );
}

/** What t-SNE and UMAP have to be told. */
function Neighbourhood() {
  const isTsne = store.method.chosen === "tsne";
  const name = isTsne ? "Perplexity" : "Neighbours";
  return (
    <div class="projector-fields">
      <Field name={name}>
        <input
          class="input sm num"
          type="number"
          aria-label={name}
          min={2}
          max={isTsne ? 200 : 500}
          value={store.neighbourhood.value}
          onChange={(event) => setParams({ near: event.currentTarget.value })}
        />
      </Field>
      <MetricField />
      {store.coordinates.value?.method === store.method.chosen && store.coordinates.value.note !== "" && (
        <p class="muted fs-1">{store.coordinates.value.note}</p>
      )}
    </div>
  );
}

/** Several ways of which one holds, with their name at the left. */
function OneOf<Word extends string>({ label, ...rest }: Omit<Parameters<typeof Segments<Word>>[0], "isWide">) {
  return (
    <div class="projector-field">
      <span>{label}</span>
      <Segments label={label} {...rest} isWide />
    </div>
  );
}

function MetricField() {
  return <OneOf label="Distance" {...store.metric} />;
}

function LabelSelect() {
  if (store.columns.value.length === 0) return <p class="muted fs-1">These points have no labels.</p>;
  return (
    <SelectField
      style="projector-field"
      look="input sm"
      name="Label"
      label="Label by"
      value={store.labelColumn.value ?? "-"}
      options={columnOptions("-", "none")}
      set={(name) => setParams({ label: name })}
    />
  );
}

const SPRITE_MODES = [
  ["auto", "Auto", "When there is room for them"],
  ["on", "On"],
  ["off", "Off"],
] as const;
