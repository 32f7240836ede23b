/** One picture with its name above it: of a layer, or of what takes its time; charts of items, plates of units. */
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Choice } from "../../data/address-choice";
import { isConnected } from "../../data/connection";
import { formatCount, formatShape, formatShare, formatValue } from "../../data/format";
import { sentence } from "../../data/network/words";
import { themeTick } from "../../data/store";
import { ColourScale } from "../../plot/ColourScale";
import { type ChartProps, SmallChart, type Spot } from "../../plot/SmallChart";
import { type Picture, Pixels, shareUnder } from "../../ui/Pixels";
import { Legend } from "../../plot/labels";
import { type Axis, axisOf } from "../../plot/scale";
import { cellOf, unitAt } from "../../stage3d/network/plates";
import { Blank, Failed, Hint, ShareBar } from "../../ui/Blank";
import { Check } from "../../ui/Check";
import { SelectField } from "../../ui/Select";
import { rangeOf } from "../../ui/colour-scale";
import { actOn } from "../../ui/keys";
import { type Room, useSize } from "../../ui/useSize";
import type { Contrast as LabelContrast, Grid } from "../../wire";
import { type chosenScale, table } from "./choice";
import { type Followed, numDone } from "./features";
import { current, describe, goToItem, items, type Items, type Look } from "./network";

interface FigureProps {
  label: string;
  name: string;
  isBusy: boolean;
  controls?: ComponentChildren;
  facts?: ComponentChildren;
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

export function Wait() {
  return (
    <div class="an-wait">
      <i class="skeleton late" />
    </div>
  );
}

interface LayersProps<Value> {
  looks: readonly Look<Value>[];
  facts?: (value: Value) => ComponentChildren;
  /** Null where nothing was asked of the layer. */
  draw: (value: Value | null, at: number) => ComponentChildren;
}

interface Noted {
  readonly head: { readonly note: string };
}

/** A picture of each layer of a network; what came before stays while the next one is on its way. */
export function LayerFigures<Value extends Noted>({ looks, facts, draw }: LayersProps<Value>) {
  return (
    <div class="an-figures">
      {looks.map((look, at) => {
        const { layer, isOld, problem, retry } = look;
        const value = look.isWanted ? look.value : null;
        const state = stateOf(look);
        const isLate = isOld && value !== null && problem === "";
        return (
          <Figure
            key={at}
            label={layer.name}
            name={layer.name}
            isBusy={isLate || state === "waiting"}
            facts={`${layer.module} ${formatShape(layer.shape)} · ${formatCount(layer.grid.num_units)} units`}
            aside={isLate && <span class="muted fs-1">what came before</span>}
          >
            {state === "failed" && <Failed title="This cannot be shown" reason={sentence(problem)} retry={retry} />}
            {state === "waiting" && <Wait />}
            {state === "there" && draw(value, at)}
            {state === "there" && value !== null && <Foot note={value.head.note}>{facts?.(value)}</Foot>}
          </Figure>
        );
      })}
    </div>
  );
}

function Foot({ note, children }: { note: string; children: ComponentChildren }) {
  return (
    <footer class="fs-2">
      {children}
      {note !== "" && <span class="muted">{sentence(note)}</span>}
    </footer>
  );
}

interface ItemViewProps<Value> extends Omit<LayersProps<Value>, "draw"> {
  draw: (value: Value) => ComponentChildren;
  /** What else is said of the item under the pointer. */
  more?: string;
  children?: ComponentChildren;
}

/** Pictures of items: below them the item under the pointer, and the labels of all. */
export function ItemView<Value extends Noted>({ draw, more = "", children, ...rest }: ItemViewProps<Value>) {
  const [all, place] = [items.value, current.value];
  const isThere = all !== null && place !== null && place < all.steps.length;
  return (
    <>
      <LayerFigures {...rest} draw={(value) => value !== null && draw(value)} />
      <Reading hint="Point at an item to read it; click it to see it in the network." parts={isThere ? [describe(all, place), more] : null} />
      <div class="an-below">
        {children}
        {all !== null && <Legend of={all} />}
      </div>
    </>
  );
}

function stateOf({ isWanted, value, problem }: Look<unknown>): "failed" | "waiting" | "there" {
  if (!isWanted) return "there";
  // What was known stays, where it is the server that is gone.
  if (problem !== "" && (value === null || isConnected.value)) return "failed";
  return value === null ? "waiting" : "there";
}

interface WorkProps {
  what: string;
  of: Followed<unknown>;
  isLine?: boolean;
}

interface WorkFigureProps<Value> extends Omit<FigureProps, "isBusy" | "facts" | "children"> {
  what: string;
  of: Followed<Value>;
  facts: (value: Value) => string;
  draw: (value: Value) => ComponentChildren;
}

/** A picture of what takes its time; what came before is paler, while the next one is on its way. */
export function WorkFigure<Value>({ what, of, facts, draw, ...rest }: WorkFigureProps<Value>) {
  const { value, isOwn } = of;
  const isShown = value !== null && (isOwn || (of.problem === "" && !of.isCancelled));
  return (
    <Figure
      {...rest}
      isBusy={of.progress !== null}
      facts={isShown && isOwn && facts(value)}
      aside={isShown && (isOwn ? <MoreSamples of={of} /> : <Work what={what} of={of} isLine />)}
    >
      {isShown ? <div class={isOwn ? "ft-body" : "ft-body old"}>{draw(value)}</div> : <Work what={what} of={of} />}
    </Figure>
  );
}

/** How far it is, with a way to stop it, or why there is nothing: in the place of a picture, or in a line beside one. */
export function Work({ what, of, isLine = false }: WorkProps) {
  const { problem, progress, retry } = of;
  const share = progress ?? 0;
  if (problem !== "") {
    if (!isLine) return <Failed title="This cannot be shown" reason={sentence(problem)} retry={retry} />;
    return (
      <Hint text={sentence(problem)}>
        <Link act={retry}>Try again</Link>
      </Hint>
    );
  }
  if (of.isCancelled) {
    return isLine ? (
      <span class="muted fs-1">
        Cancelled. <Link act={retry}>Go on</Link>
      </span>
    ) : (
      <Blank icon="stop" title="Cancelled">
        <button class="btn" onClick={retry}>
          Compute it
        </button>
      </Blank>
    );
  }
  if (isLine && progress === null) return null;
  return (
    <div class={isLine ? "ft-working late" : "blank late"} role={isLine ? "status" : undefined} aria-busy="true">
      <span>
        {what} · {formatShare(share, 1)}
      </span>
      <ShareBar label={what} now={Math.round(100 * share)} most={100} />
      {of.note !== "" && <span class="muted">{of.note}</span>}
      <button key={of.since} class="btn sm late" style={{ animationDelay: "3s" }} onClick={of.cancel}>
        Cancel
      </button>
    </div>
  );
}

/** Said of what was computed while an extraction goes on: there are more samples by now. */
export function MoreSamples({ of: { numThen, retry } }: Pick<WorkProps, "of">) {
  if (numDone.value <= numThen) return null;
  return (
    <span class="muted fs-1 ft-more">
      {formatCount(numDone.value - numThen)} samples have come since. <Link act={retry}>Update</Link>
    </span>
  );
}

export function Link({ act, children }: { act: () => void; children: string }) {
  return (
    <button class="link" onClick={act}>
      {children}
    </button>
  );
}

/** One of several numbers to choose. Those above `all` are all there are. */
export function CountChoice({ name, of, all = numDone.value }: { name: string; of: Choice<number>; all?: number }) {
  // One that is enough for all of them is the last that makes a difference.
  const enough = of.words.findIndex(([count]) => count >= all);
  const shown = enough < 0 ? of.words : of.words.slice(0, enough + 1);
  const chosen = shown.some(([count]) => count === of.chosen) ? of.chosen : shown.at(-1)![0];
  return (
    <SelectField
      style="ft-choice"
      name={name}
      value={String(chosen)}
      options={shown.map(([count, text]) => [String(count), count >= all ? `all ${formatCount(all)}` : text])}
      set={(next) => of.choose(Number(next))}
    />
  );
}

export function TableCheck() {
  return <Check {...table}>Show as table</Check>;
}

/** Pairs with the same label against pairs with different ones. */
export function Contrast({ of, hint, none }: { of: LabelContrast | null; hint: string; none: string }) {
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

/** The colours of a picture with their limits, and what they mean. */
export function ScaleNote({ of, said, children }: { of: ReturnType<typeof chosenScale>; said?: string; children?: ComponentChildren }) {
  return (
    <div class="an-scale">
      {said !== undefined && <span class="muted fs-1">{said}</span>}
      <ColourScale {...of} />
      {children}
    </div>
  );
}

/** What is under the pointer, or where the keys have led, in a line below the pictures: parts of it, or how to get there. */
export function Reading({ hint, parts }: { hint: string; parts: readonly ComponentChildren[] | null }) {
  return (
    <p class="an-reading">
      {parts === null && <span class="muted">{hint}</span>}
      {parts?.map((part, at) => part !== "" && (at === 0 ? <b key={at}>{part}</b> : <span key={at}>{part}</span>))}
    </p>
  );
}

// --- Charts of items: the pointer and the keys lead to one of them, a click or Enter to its place in the network.

interface ItemSpot {
  readonly place: number;
  readonly x: number;
  readonly y: number;
}

/** The item of the nearest of some spots, where one is so near. */
export function nearestOf(spots: readonly ItemSpot[], { x, y }: Spot, reach: number): number | null {
  let [best, near] = [null as number | null, reach];
  for (const spot of spots) {
    const far = Math.hypot(spot.x - x, spot.y - y);
    if (far < near) [best, near] = [spot.place, far];
  }
  return best;
}

export function Chart(props: Omit<ChartProps, "class" | "height">) {
  return <SmallChart {...props} class="an-room an-chart" height="all" />;
}

interface ItemChartProps extends Omit<ChartProps, "class" | "height"> {
  items: Items;
  order: readonly number[];
  itemAt: (spot: Spot) => number | null;
}

export function ItemChart({ items: all, order, itemAt, label, ...rest }: ItemChartProps) {
  return (
    <Chart
      {...rest}
      label={label}
      onPoint={(_, spot) => (current.value = spot === null ? null : itemAt(spot))}
      onClick={() => current.peek() !== null && goToItem(all, current.peek()!)}
      onKey={(event) => stepItem(event, order, all)}
    />
  );
}

function stepItem(event: KeyboardEvent, order: readonly number[], all: Items): void {
  const place = current.peek();
  const to = (by: number) => (): void => {
    const at = place === null ? -1 : order.indexOf(place);
    const next = at < 0 ? 0 : Math.max(0, Math.min(order.length - 1, at + by * (event.shiftKey ? 10 : 1)));
    current.value = order[next] ?? null;
  };
  actOn(event, {
    ...{ ArrowRight: to(1), ArrowDown: to(1), ArrowLeft: to(-1), ArrowUp: to(-1) },
    ...{ Home: to(-order.length), End: to(order.length) },
    Enter: place === null ? undefined : () => goToItem(all, place),
  });
}

export function axisWithZero(values: Iterable<number>, most?: number): Axis {
  const { min, max } = rangeOf([0, ...values])!;
  return axisOf({ low: min, high: max > min ? max : min + 1 }, most);
}

interface PlateProps {
  /** By the room that there is. */
  grid: Grid | ((room: Room) => Grid);
  /** Units as pixels. It is painted anew with any of `by`, and with the theme. */
  paint: (grid: Grid) => Picture;
  by: readonly unknown[];
  summary: string;
  /** What stands below it: of the unit under the pointer, or of the one that is chosen. */
  read?: (unit: number | null) => string;
  chosen?: number | null;
  onChoose?: (unit: number) => void;
  largest?: number;
}

export function Plate({ grid: given, paint, by, summary, read, chosen = null, onChoose, largest = 40 }: PlateProps) {
  const [pointed, setPointed] = useState<number | null>(null);
  const [box, room] = useSize<HTMLDivElement>();
  const grid = useMemo(() => (typeof given === "function" ? given(room) : given), [...by, room, typeof given === "function" || given]);
  const picture = useMemo(() => paint(grid), [...by, grid, themeTick.value]);
  const { width, height } = picture;
  const cell = Math.min(largest, (room.width - 8) / width, (room.height - 8) / height);
  const unitUnder = (event: MouseEvent): number | null => {
    const [across, down] = shareUnder(event);
    return unitAt(grid, { column: Math.floor(across * width), row: Math.floor(down * height) });
  };
  const to = (columns: number, rows: number) => (): void => {
    let { column, row } = cellOf(grid, chosen ?? 0);
    let unit = chosen === null ? 0 : null;
    // Over the gap between two tiles.
    for (let tries = 0; unit === null && tries <= grid.gap; tries++) {
      [column, row] = [column + columns, row + rows];
      unit = unitAt(grid, { column, row });
    }
    if (unit !== null) onChoose?.(unit);
  };
  const keys = { ArrowRight: to(1, 0), ArrowLeft: to(-1, 0), ArrowDown: to(0, 1), ArrowUp: to(0, -1) };
  const place = chosen === null ? null : cellOf(grid, chosen);
  const side = `${Math.max(4, cell)}px`;
  return (
    <div class="an-part">
      <div class="an-room" ref={box}>
        {cell > 0 && (
          <div
            class="an-plate"
            style={{ width: `${width * cell}px`, height: `${height * cell}px` }}
            role="img"
            aria-label={summary}
            tabIndex={read === undefined ? undefined : 0}
            onKeyDown={(event) => onChoose !== undefined && actOn(event, keys)}
          >
            <Pixels
              picture={picture}
              class={onChoose === undefined ? "" : "can"}
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
      {read !== undefined && <p class="an-reading">{read(pointed ?? chosen)}</p>}
    </div>
  );
}
