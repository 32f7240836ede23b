/** One picture of one layer: its name above, what is to be known of it below; what came before stays meanwhile. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { isConnected } from "../../data/connection";
import { formatCount, formatShape } from "../../data/format";
import { sentence } from "../../data/network/words";
import { cellOf, unitAt } from "../../stage3d/network/plates";
import { Blank } from "../../ui/Blank";
import { useSize } from "../../ui/useSize";
import type { Grid, NetLayer } from "../../wire";
import { current, showInNetwork } from "./choice";
import { itemName, items, type Items, labelOf } from "./items";
import { labelColour, labelShape, MOST_NAMED, type Plate } from "./pixels";

interface Props {
  layer: NetLayer;
  /** Why nothing came; empty where something did. */
  problem: string;
  retry: () => void;
  isReady: boolean;
  /** Is what is shown that of the items of before? */
  isOld: boolean;
  note?: string;
  facts?: ComponentChildren;
  children: ComponentChildren;
}

export function Figure({ layer, problem, retry, isReady, isOld, note, facts, children }: Props) {
  // What was known stays, where it is the server that is gone.
  const isFailed = problem !== "" && !(isReady && !isConnected.value);
  return (
    <section class="an-figure" aria-label={layer.name} aria-busy={(!isReady || isOld) && problem === ""}>
      <header>
        <h3 class="clip" title={layer.name}>
          {layer.name}
        </h3>
        <span class="muted fs-1 clip">
          {layer.module} {formatShape(layer.shape)} · {formatCount(layer.grid.num_units)} units
        </span>
        <span class="grow" />
        {isOld && problem === "" && <span class="muted fs-1">what came before</span>}
      </header>
      {isFailed && <Failure problem={problem} retry={retry} />}
      {!isFailed && (isReady ? children : <Wait />)}
      {!isFailed && isReady && <Foot facts={facts} note={note} />}
    </section>
  );
}

function Foot({ facts, note = "" }: { facts: ComponentChildren; note: string | undefined }) {
  return (
    <footer class="fs-2">
      {facts}
      {note !== "" && <span class="muted">{sentence(note)}</span>}
    </footer>
  );
}

function Failure({ problem, retry }: Pick<Props, "problem" | "retry">) {
  return (
    <Blank icon="warning" title="This cannot be shown" isError>
      <span>{sentence(problem)}</span>
      <button class="btn" onClick={retry}>
        Try again
      </button>
    </Blank>
  );
}

function Wait() {
  return (
    <div class="an-wait">
      <i class="skeleton late" />
    </div>
  );
}

// --- Which colour stands for which label, and how many items have it.

export function Legend({ items }: { items: Pick<Items, "labels" | "label_of"> }) {
  const { labels, label_of: labelOf } = items;
  if (labels.length === 0) return null;
  if (labels.length > MOST_NAMED) {
    return (
      <p class="legend" aria-label="Labels">
        {formatCount(labels.length)} labels, from “{labels[0]}” (pale) to “{labels.at(-1)}”
      </p>
    );
  }
  const counts = labels.map(() => 0);
  for (const label of labelOf) counts[label]! += 1;
  return (
    <ul class="legend an-legend" aria-label="Labels">
      {labels.map((name, label) => (
        <li key={label}>
          <svg width="12" height="12" aria-hidden="true">
            <Mark x={6} y={6} size={4} shape={labelShape(label, labels.length)} fill={labelColour(label, labels.length)} />
          </svg>
          <span class="clip">{name}</span>
          <span class="muted" title="items">× {formatCount(counts[label]!)}</span>
        </li>
      ))}
    </ul>
  );
}

/** A point of a chart: its shape says what its colour alone does not. */
interface MarkProps {
  x: number;
  y: number;
  /** Half of its width. */
  size: number;
  shape: number;
  fill: string;
  isOn?: boolean;
}

export function Mark({ x, y, size, shape, fill, isOn = false }: MarkProps) {
  const look = { fill, class: isOn ? "an-mark on" : "an-mark" };
  if (shape === 0) return <circle cx={x} cy={y} r={size} {...look} />;
  if (shape === 1) return <rect x={x - size} y={y - size} width={2 * size} height={2 * size} {...look} />;
  return <path d={`M${x} ${y - size * 1.2}L${x + size * 1.2} ${y + size}H${x - size * 1.2}Z`} {...look} />;
}

// --- What is under the pointer, or where the keys have led, in a line below the pictures.

/** What else is to be said of the item, such as its coordinates. */
export function ReadingLine({ more }: { more?: (place: number) => string }) {
  const all = items.value;
  const place = current.value;
  if (all === null || place === null || place >= all.steps.length) {
    return <p class="an-reading muted">Point at an item to read it; click it to see it in the network.</p>;
  }
  const extra = more?.(place) ?? "";
  return (
    <p class="an-reading">
      <b>{describe(all, place)}</b>
      {extra !== "" && <span>{extra}</span>}
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

// --- The plate of a layer as a picture: point at a unit to read it, click it to choose it.

interface PlatePictureProps {
  grid: Grid;
  plate: Plate;
  summary: string;
  /** The unit that is outlined. */
  chosen: number | null;
  onPoint: (unit: number | null) => void;
  /** Null where units cannot be chosen. */
  onChoose: ((unit: number) => void) | null;
}

/** Cells of a small layer are no larger than this. */
const LARGEST_CELL = 40;

export function PlatePicture({ grid, plate, summary, chosen, onPoint, onChoose }: PlatePictureProps) {
  const [box, room] = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width, height, pixels } = plate;
  const cell = Math.min(LARGEST_CELL, (room.width - 8) / width, (room.height - 8) / height);
  const hasRoom = cell > 0;
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    context?.putImageData(new ImageData(pixels, width, height), 0, 0);
  }, [plate, hasRoom]);
  const unitUnder = (event: MouseEvent): number | null => {
    const area = canvas.current?.getBoundingClientRect();
    if (area === undefined) return null;
    const column = Math.floor(((event.clientX - area.left) / area.width) * width);
    return unitAt(grid, { column, row: Math.floor(((event.clientY - area.top) / area.height) * height) });
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
  return (
    <div class="an-room" ref={box}>
      {hasRoom && (
        <div
          class="an-plate"
          style={{ width: `${width * cell}px`, height: `${height * cell}px` }}
          role="img"
          aria-label={summary}
          tabIndex={0}
          onKeyDown={move}
        >
          <canvas
            ref={canvas}
            width={width}
            height={height}
            class={onChoose === null ? "" : "can"}
            onPointerMove={(event) => onPoint(unitUnder(event))}
            onPointerLeave={() => onPoint(null)}
            onClick={(event) => {
              const unit = unitUnder(event);
              if (unit !== null) onChoose?.(unit);
            }}
          />
          {place !== null && (
            <i
              class="an-chosen"
              style={{
                left: `${place.column * cell}px`,
                top: `${place.row * cell}px`,
                width: `${Math.max(4, cell)}px`,
                height: `${Math.max(4, cell)}px`,
              }}
            />
          )}
        </div>
      )}
    </div>
  );
}
