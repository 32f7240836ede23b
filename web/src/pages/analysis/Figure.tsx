/** One picture with its name above it: of a layer, or of what takes its time; charts of items, plates of units. */
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Choice } from "../../data/address-choice";
import { isConnected } from "../../data/connection";
import { formatCount, formatShape, formatShare, formatValue } from "../../data/format";
import { sentence } from "../../data/network/words";
import { themeTick } from "../../data/store";
import { ColourScale } from "../../plot/ColourScale";
import { type Picture, Pixels, shareUnder } from "../../ui/Pixels";
import { Legend } from "../../plot/labels";
import { formatTicks, linearTicks } from "../../plot/ticks";
import { cellOf, unitAt } from "../../stage3d/network/plates";
import { Blank, Failed, ShareBar } from "../../ui/Blank";
import { Check } from "../../ui/Check";
import { Select } from "../../ui/Select";
import { rangeOf } from "../../ui/colour-scale";
import { useSize } from "../../ui/useSize";
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

function stateOf({ isWanted, value, problem }: Look<unknown>): "failed" | "waiting" | "there" {
  if (!isWanted) return "there";
  // What was known stays, where it is the server that is gone.
  if (problem !== "" && (value === null || isConnected.value)) return "failed";
  return value === null ? "waiting" : "there";
}

function Foot({ note, children }: { note: string; children: ComponentChildren }) {
  return (
    <footer class="fs-2">
      {children}
      {note !== "" && <span class="muted">{sentence(note)}</span>}
    </footer>
  );
}

interface WorkProps {
  what: string;
  of: Followed<unknown>;
}

interface WorkFigureProps<Value> extends Omit<FigureProps, "isBusy" | "facts" | "children"> {
  what: string;
  of: Followed<Value>;
  /** How many samples there were. */
  numThen: number;
  facts: (value: Value) => string;
  draw: (value: Value) => ComponentChildren;
}

/** A picture of what takes its time; what came before is paler, while the next one is on its way. */
export function WorkFigure<Value>({ what, of, numThen, facts, draw, ...rest }: WorkFigureProps<Value>) {
  const { value, isOwn } = of;
  const isShown = value !== null && (isOwn || (of.problem === "" && !of.isCancelled));
  return (
    <Figure
      {...rest}
      isBusy={of.progress !== null}
      facts={isShown && isOwn && facts(value)}
      aside={isShown && (isOwn ? <MoreSamples numThen={numThen} again={of.retry} /> : <WorkLine what={what} of={of} />)}
    >
      {isShown ? <div class={isOwn ? "ft-body" : "ft-body old"}>{draw(value)}</div> : <Work what={what} of={of} />}
    </Figure>
  );
}

/** In the place of a picture that is not there yet: how far it is, with a way to stop it, or why there is nothing. */
export function Work({ what, of }: WorkProps) {
  if (of.problem !== "") return <Failed title="This cannot be shown" reason={sentence(of.problem)} retry={of.retry} />;
  if (of.isCancelled) {
    return (
      <Blank icon="stop" title="Cancelled">
        <button class="btn" onClick={of.retry}>
          Compute it
        </button>
      </Blank>
    );
  }
  return (
    <div class="blank late" aria-busy="true">
      <Progress what={what} of={of} />
    </div>
  );
}

/** Beside a picture that is there in part, or still that of before. */
export function WorkLine({ what, of }: WorkProps) {
  if (of.problem !== "") {
    return (
      <span class="hint" role="alert">
        {sentence(of.problem)} <Link act={of.retry}>Try again</Link>
      </span>
    );
  }
  if (of.isCancelled) {
    return (
      <span class="muted fs-1">
        Cancelled. <Link act={of.retry}>Go on</Link>
      </span>
    );
  }
  if (of.progress === null) return null;
  return (
    <span class="ft-working late" role="status">
      <Progress what={what} of={of} />
    </span>
  );
}

/** Said of what was computed while an extraction goes on: there are more samples by now. */
export function MoreSamples({ numThen, again }: { numThen: number; again: () => void }) {
  if (numDone.value <= numThen) return null;
  return (
    <span class="muted fs-1 ft-more">
      {formatCount(numDone.value - numThen)} samples have come since. <Link act={again}>Update</Link>
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

const CANCEL_MS = 3000;

function Progress({ what, of }: WorkProps) {
  const share = of.progress ?? 0;
  const [isLong, setIsLong] = useState(false);
  useEffect(() => {
    setIsLong(false);
    const timer = setTimeout(() => setIsLong(true), CANCEL_MS);
    return () => clearTimeout(timer);
  }, [of.since]);
  return (
    <>
      <span>
        {what} · {formatShare(share, 1)}
      </span>
      <ShareBar label={what} now={Math.round(100 * share)} most={100} />
      {of.note !== "" && <span class="muted">{of.note}</span>}
      {isLong && (
        <button class="btn sm" onClick={of.cancel}>
          Cancel
        </button>
      )}
    </>
  );
}

/** One of several numbers to choose. Those above `all` are all there are. */
export function CountChoice({ name, of, all = numDone.value }: { name: string; of: Choice<number>; all?: number }) {
  // One that is enough for all of them is the last that makes a difference.
  const enough = of.words.findIndex(([count]) => count >= all);
  const shown = enough < 0 ? of.words : of.words.slice(0, enough + 1);
  const chosen = shown.some(([count]) => count === of.chosen) ? of.chosen : shown.at(-1)![0];
  return (
    <label class="ft-choice">
      <span>{name}</span>
      <Select
        value={String(chosen)}
        options={shown.map(([count, text]) => [String(count), count >= all ? `all ${formatCount(all)}` : text])}
        set={(next) => of.choose(Number(next))}
      />
    </label>
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

/** Below the pictures of a network: what can be chosen for them, and the labels of the items. */
export function Below({ children }: { children?: ComponentChildren }) {
  return (
    <div class="an-below">
      {children}
      {items.value !== null && <Legend of={items.value} />}
    </div>
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

/** What is under the pointer, or where the keys have led, in a line below the pictures; `more` is said of the item, too. */
export function ReadingLine({ more = "" }: { more?: string }) {
  const [all, place] = [items.value, current.value];
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

// --- Charts of items: the pointer and the keys lead to one of them, a click or Enter to its place in the network.

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
  const drawn = isThere ? draw(width, height) : null;
  const pointing = all !== undefined && {
    tabindex: 0,
    onPointerMove: (event: PointerEvent) => {
      const area = (event.currentTarget as Element).getBoundingClientRect();
      current.value = drawn?.itemAt?.(event.clientX - area.left, event.clientY - area.top) ?? null;
    },
    onPointerLeave: () => (current.value = null),
    onClick: () => current.peek() !== null && goToItem(all, current.peek()!),
    onKeyDown: (event: KeyboardEvent) => stepItem(event, order, all),
  };
  return (
    <div class="an-room" ref={box}>
      {isThere && (
        <svg class="an-chart" width={width} height={height} role="img" aria-label={summary} {...pointing}>
          {drawn?.picture}
        </svg>
      )}
    </div>
  );
}

function stepItem(event: KeyboardEvent, order: readonly number[], all: Items): void {
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

/** From values to pixels along one side of a chart. */
export function axisOf(low: number, high: number, from: number, to: number) {
  return { low, high, at: (value: number): number => from + ((value - low) / (high - low)) * (to - from) };
}

/** One that has nought and all of the values. */
export function axisWithZero(values: Iterable<number>, from: number, to: number) {
  const { min, max } = rangeOf([0, ...values])!;
  return axisOf(min, max > min ? max : min + 1, from, to);
}

/** Lines across a chart at easy numbers, which stand at the left. */
export function Levels({ of, most, left, right }: { of: ReturnType<typeof axisOf>; most?: number; left: number; right: number }) {
  const ticks = linearTicks(of, most);
  const texts = formatTicks(ticks);
  return (
    <>
      {ticks.map((tick, at) => (
        <g key={tick}>
          <path class="grid" d={`M${left} ${Math.round(of.at(tick)) + 0.5}H${right}`} />
          <text class="e" x={left - 6} y={of.at(tick) + 4}>
            {texts[at]}
          </text>
        </g>
      ))}
    </>
  );
}

interface PlateProps {
  grid: Grid;
  /** Units as pixels. It is painted anew with any of `by`, and with the theme. */
  paint: () => Picture;
  by: readonly unknown[];
  summary: string;
  /** What stands below it: of the unit under the pointer, or of the one that is chosen. */
  read: (unit: number | null) => string;
  chosen?: number | null;
  onChoose?: (unit: number) => void;
}

const LARGEST_CELL = 40;

/** The plate of a layer as a picture: point at a unit to read it, click it to choose it. */
export function Plate({ grid, paint, by, summary, read, chosen = null, onChoose }: PlateProps) {
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
    if (by === undefined || onChoose === undefined) return;
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
      <p class="an-reading">{read(pointed ?? chosen)}</p>
    </div>
  );
}
