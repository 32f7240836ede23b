/** One picture with its name above it; what is under the pointer, and charts of items, in which one is led to. */
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { isConnected } from "../../data/connection";
import { formatCount, formatShape, formatValue } from "../../data/format";
import { sentence } from "../../data/network/words";
import { setParams } from "../../data/route";
import { themeTick } from "../../data/store";
import { type Picture, Pixels, shareUnder } from "../../plot/Pixels";
import { formatTicks, linearTicks } from "../../plot/ticks";
import { cellOf, unitAt } from "../../stage3d/network/plates";
import { Blank } from "../../ui/Blank";
import { Segments } from "../../ui/controls";
import { useSize } from "../../ui/useSize";
import type { Grid, NetContrast } from "../../wire";
import { current, isTable, type Metric, showInNetwork } from "./choice";
import { type Analysed, itemName, items, type Items, labelOf, type Look } from "./items";

interface FigureProps {
  label: string;
  name: string;
  isBusy: boolean;
  controls?: ComponentChildren;
  facts?: ComponentChildren;
  /** At the right. */
  aside?: ComponentChildren;
  look?: string;
  children: ComponentChildren;
}

export function Figure({ label, name, isBusy, controls, facts, aside, look = "", children }: FigureProps) {
  return (
    <section class={`an-figure ${look}`} aria-label={label} aria-busy={isBusy}>
      <header>
        <h3 class="clip" title={name}>
          {name}
        </h3>
        {controls}
        <span class="muted fs-1 clip">{facts}</span>
        <span class="grow" />
        {aside}
      </header>
      {children}
    </section>
  );
}

type Noted = Pick<Analysed<never, unknown>, "layer"> & { readonly head: { readonly note: string } };

interface LayerProps<Value> {
  look: Omit<Look<never, unknown>, "value"> & { readonly value: Value | null };
  facts?: ((value: Value) => ComponentChildren) | undefined;
  /** Null where nothing was asked of the layer. */
  draw: (value: Value | null, at: number) => ComponentChildren;
}

/** A picture of each layer; what came before stays while the next one is on its way. */
export function LayerFigures<Value extends Noted>({ looks, ...rest }: Omit<LayerProps<Value>, "look"> & { looks: readonly LayerProps<Value>["look"][] }) {
  return (
    <div class="an-figures">
      {looks.map((look, at) => (
        <LayerFigure key={at} look={look} at={at} {...rest} />
      ))}
    </div>
  );
}

function LayerFigure<Value extends Noted>({ look, at, facts, draw }: LayerProps<Value> & { at: number }) {
  const { layer, problem, retry, isWanted, isOld } = look;
  const value = isWanted ? look.value : null;
  const isBusy = isWanted && (value === null || isOld) && problem === "";
  return (
    <Figure
      label={layer.name}
      name={layer.name}
      isBusy={isBusy}
      facts={`${layer.module} ${formatShape(layer.shape)} · ${formatCount(layer.grid.num_units)} units`}
      aside={isOld && isBusy && <span class="muted fs-1">what came before</span>}
    >
      {isFailed(look) ? (
        <Failure title="This cannot be shown" problem={problem} retry={retry} />
      ) : (
        <>
          {isWanted && value === null ? <Wait /> : draw(value, at)}
          {value !== null && <Foot facts={facts?.(value)} note={value.head.note} />}
        </>
      )}
    </Figure>
  );
}

/** What was known stays, where it is the server that is gone. */
function isFailed({ isWanted, problem, value }: LayerProps<unknown>["look"]): boolean {
  return isWanted && problem !== "" && (value === null || isConnected.value);
}

function Foot({ facts, note }: { facts: ComponentChildren; note: string }) {
  return (
    <footer class="fs-2">
      {facts}
      {note !== "" && <span class="muted">{sentence(note)}</span>}
    </footer>
  );
}

export function Failure({ title, problem, retry }: { title: string; problem: string; retry: () => void }) {
  return (
    <Blank icon="warning" title={title} isError>
      <span>{sentence(problem)}</span>
      <button class="btn" onClick={retry}>
        Try again
      </button>
    </Blank>
  );
}

export function Wait() {
  return (
    <div class="an-wait">
      <i class="skeleton late" />
    </div>
  );
}

export function TableCheck() {
  return (
    <label class="check">
      <input type="checkbox" checked={isTable.value} onChange={(event) => setParams({ table: event.currentTarget.checked ? "yes" : null })} />
      Show as table
    </label>
  );
}

const METRIC_WORDS = [
  ["correlation", "Correlation", "Pearson’s, over units"],
  ["cosine", "Cosine", "Of the angle between two of them"],
  ["euclidean", "Distance", "Euclid’s, over units"],
] as const;

export function MetricChoice({ param, chosen, isWide = false }: { param: string; chosen: Metric; isWide?: boolean }) {
  return (
    <Segments label="Metric" words={METRIC_WORDS} chosen={chosen} choose={(one) => setParams({ [param]: one === "correlation" ? null : one })} isWide={isWide} />
  );
}

/** Pairs with the same label against pairs with different ones. */
export function Contrast({ of, hint, none }: { of: NetContrast | null; hint: string; none: string }) {
  if (of === null) return <span class="muted fs-1">{none}</span>;
  const text = (value: number | null): string => (value === null ? "none" : formatValue(value, 3));
  return (
    <dl class="an-facts fs-2">
      <dt>Within labels</dt>
      <dd>{text(of.within)}</dd>
      <dt>Between</dt>
      <dd>{text(of.between)}</dd>
      <dt title={hint}>Contrast</dt>
      <dd title={hint}>
        <b>{text(of.contrast)}</b>
      </dd>
    </dl>
  );
}

/** Layers that are not among those that are compared, and why the first of them is not. */
export function LeftOut({ of }: { of: readonly (readonly [layer: string, why: string])[] }) {
  if (of.length === 0) return null;
  return (
    <span class="muted fs-1" title={of.map(([layer, why]) => `${layer}: ${why}`).join("\n")}>
      {formatCount(of.length)} {of.length === 1 ? "layer is" : "layers are"} not compared: {of[0]![0]}: {of[0]![1]}
    </span>
  );
}

// --- What is under the pointer, or where the keys have led, in a line below the pictures.

/** `more`: what else is to be said of the item. */
export function ReadingLine({ more = "" }: { more?: string }) {
  const all = items.value;
  const place = current.value;
  if (all === null || place === null || place >= all.steps.length) {
    return <p class="an-reading muted">Point at an item to read it; click it to see it in the network.</p>;
  }
  return (
    <p class="an-reading">
      <b>{describe(all, place)}</b>
      {more !== "" && <span>{more}</span>}
    </p>
  );
}

export function describe(all: Items, place: number): string {
  const label = labelOf(all, place);
  return label === "" ? itemName(all, place) : `${itemName(all, place)}: ${label}`;
}

export function goToItem(all: Items, place: number): void {
  const [moment, item] = [all.steps[place], all.items[place]];
  if (moment !== undefined && item !== undefined) showInNetwork(moment, item);
}

/** Keys of a picture whose items stand in an order. */
export function stepItem(event: KeyboardEvent, order: readonly number[], all: Items): void {
  const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -order.length, End: order.length }[event.key];
  const place = current.peek();
  if (event.key === "Enter" && place !== null) {
    event.preventDefault();
    goToItem(all, place);
  }
  if (by === undefined || order.length === 0) return;
  event.preventDefault();
  event.stopPropagation();
  const at = place === null ? -1 : order.indexOf(place);
  const next = at < 0 ? 0 : Math.max(0, Math.min(order.length - 1, at + by * (event.shiftKey ? 10 : 1)));
  current.value = order[next] ?? null;
}

// --- Charts of items: the pointer and the keys lead to one of them, a click or Enter to its place in the network.

/** Where an item is in a chart. */
export interface Spot {
  readonly place: number;
  readonly x: number;
  readonly y: number;
}

/** The item of the nearest of some spots, where one is so near. */
export function nearestOf(spots: readonly Spot[], x: number, y: number, reach: number): number | null {
  let [best, near] = [null as number | null, reach];
  for (const spot of spots) {
    const far = Math.hypot(spot.x - x, spot.y - y);
    if (far < near) [best, near] = [spot.place, far];
  }
  return best;
}

interface Drawn {
  readonly picture: ComponentChildren;
  /** The item at a place; null where there is none. */
  readonly itemAt?: (x: number, y: number) => number | null;
}

interface ChartProps {
  summary: string;
  draw: (width: number, height: number) => Drawn;
  /** What the keys go through. */
  items?: Items;
  order?: readonly number[];
}

export function Chart({ summary, draw, items: all, order = [] }: ChartProps) {
  const [box, room] = useSize<HTMLDivElement>();
  const [width, height] = [Math.floor(room.width), Math.floor(room.height)];
  const isThere = width > 0 && height > 0;
  const { picture, itemAt } = isThere ? draw(width, height) : { picture: null };
  const pointing = itemAt !== undefined &&
    all !== undefined && {
      tabindex: 0,
      onPointerMove: (event: PointerEvent) => {
        const area = (event.currentTarget as Element).getBoundingClientRect();
        current.value = itemAt(event.clientX - area.left, event.clientY - area.top);
      },
      onPointerLeave: () => (current.value = null),
      onClick: () => current.peek() !== null && goToItem(all, current.peek()!),
      onKeyDown: (event: KeyboardEvent) => stepItem(event, order, all),
    };
  return (
    <div class="an-room" ref={box}>
      {isThere && (
        <svg class="an-chart" width={width} height={height} role="img" aria-label={summary} {...(pointing === false ? {} : pointing)}>
          {picture}
        </svg>
      )}
    </div>
  );
}

/** Lines across a chart at easy numbers, which stand at the left. */
export function Levels({ low, high, most, left, right, y }: { low: number; high: number; most?: number; left: number; right: number; y: (value: number) => number }) {
  const ticks = linearTicks({ low, high }, most);
  const texts = formatTicks(ticks);
  return (
    <>
      {ticks.map((tick, at) => (
        <g key={tick}>
          <path class="grid" d={`M${left} ${Math.round(y(tick)) + 0.5}H${right}`} />
          <text class="e" x={left - 6} y={y(tick) + 4}>
            {texts[at]}
          </text>
        </g>
      ))}
    </>
  );
}

// --- The plate of a layer as a picture: point at a unit to read it, click it to choose it.

interface PlateProps {
  grid: Grid;
  /** Units as pixels. It is painted anew with any of `by`, and with the theme. */
  paint: () => Picture;
  by: readonly unknown[];
  summary: string;
  /** What stands below it: of the unit under the pointer, or of the one that is chosen. */
  read: (unit: number | null) => string;
  /** The unit that is outlined. */
  chosen: number | null;
  /** Null where units cannot be chosen. */
  onChoose: ((unit: number) => void) | null;
}

/** Cells of a small layer are no larger than this. */
const LARGEST_CELL = 40;

export function Plate({ grid, paint, by, summary, read, chosen, onChoose }: PlateProps) {
  const [pointed, setPointed] = useState<number | null>(null);
  const [box, room] = useSize<HTMLDivElement>();
  const picture = useMemo(paint, [...by, grid, themeTick.value]);
  const { width, height } = picture;
  const cell = Math.min(LARGEST_CELL, (room.width - 8) / width, (room.height - 8) / height);
  const unitUnder = (event: MouseEvent): number | null => {
    const [across, down] = shareUnder(event);
    return unitAt(grid, { column: Math.floor(across * width), row: Math.floor(down * height) });
  };
  const move = (event: KeyboardEvent): void => {
    const by = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key];
    if (by === undefined || onChoose === null) return;
    event.preventDefault();
    event.stopPropagation();
    let { column, row } = cellOf(grid, chosen ?? 0);
    // Over the gap between two tiles.
    for (let tries = 0; tries <= grid.gap; tries++) {
      [column, row] = [column + by[0]!, row + by[1]!];
      const unit = chosen === null ? 0 : unitAt(grid, { column, row });
      if (unit !== null) {
        onChoose(unit);
        return;
      }
    }
  };
  const place = chosen === null ? null : cellOf(grid, chosen);
  const side = `${Math.max(4, cell)}px`;
  return (
    <div class="an-part">
      <div class="an-room" ref={box}>
        {cell > 0 && (
          <div class="an-plate" style={{ width: `${width * cell}px`, height: `${height * cell}px` }} role="img" aria-label={summary} tabIndex={0} onKeyDown={move}>
            <Pixels
              picture={picture}
              class={onChoose === null ? "" : "can"}
              onPointerMove={(event) => setPointed(unitUnder(event))}
              onPointerLeave={() => setPointed(null)}
              onClick={(event) => {
                const unit = unitUnder(event);
                if (unit !== null) onChoose?.(unit);
              }}
            />
            {place !== null && (
              <i class="an-chosen" style={{ left: `${place.column * cell}px`, top: `${place.row * cell}px`, width: side, height: side }} />
            )}
          </div>
        )}
      </div>
      <p class="an-reading">{read(pointed ?? chosen)}</p>
    </div>
  );
}
