/** A tensor as a picture: its tiles side by side, one pixel a value; a click chooses a tile. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatCount, formatExact, formatNumberOf } from "../../data/format";
import type { TensorValues } from "../../data/source";
import * as store from "../../data/store";
import { cellAt, layOutTiles, pictureSize, tileCorner, type TileLayout, tilesPerPage } from "../../data/tensor-tiles";
import {
  fullReach,
  gridOf,
  indexOf,
  type PictureModel,
  pictureOf,
  reachOf,
  type Start,
  startFor,
  windowOf,
} from "../../data/tensor-window";
import { Stepper } from "../../ui/Stepper";
import { actOn } from "../../ui/keys";
import { paintValues, type Palette, readPalette, type Scale } from "../../ui/colour-scale";
import { useWidth } from "../../ui/useWidth";
import type { Window } from "../../wire";
import { ColourScale } from "../ColourScale";
import { Section } from "./Facts";
import type { AnyTensor } from "./subjects";
import { useWindow } from "./useTensor";

/** A tensor as its picture and its numbers show it. */
export interface TensorLook {
  readonly subject: AnyTensor;
  /** The item that is looked at, or as much of it as came first. */
  readonly base: TensorValues;
  readonly scale: Scale;
  readonly isAuto: boolean;
  /** Null for automatic limits. */
  readonly onScale: (scale: Scale | null) => void;
  /** Where the numbers begin, and with which tile. */
  readonly start: Start;
  /** Move from where it is now, which may be further than what is on screen. */
  readonly onStart: (change: (now: Start) => Start) => void;
  readonly canMove: boolean;
}

export const FIRST: Start = { tiles: 0, rows: 0, columns: 0 };

export function Picture({ subject, base, scale, isAuto, onScale, start, onStart, canMove }: TensorLook) {
  const { shape, window: whole } = base.view;
  const perPage = tilesPerPage(whole.num_rows, whole.num_columns);
  const [page, setPage] = useState(Math.floor(whole.first_tile / perPage));
  const shown = useWindow(subject, base, pageOfTiles(base, page, perPage, canMove));
  const values = shown.values ?? base;
  const { window } = values.view;
  const lastTile = canMove ? gridOf(shape).tiles : whole.first_tile + whole.num_tiles;
  const numPages = Math.ceil(lastTile / perPage);
  const [hover, setHover] = useState<number | null>(null);
  const choose = (nth: number): void => {
    const reach = canMove ? fullReach(shape, window.item) : reachOf(whole);
    const chosen = startFor(reach, shape, indexOf(shape, window, nth));
    if (chosen !== null) onStart(() => chosen);
  };
  return (
    <Section title="Picture" remark={hover === null ? describe(shape, window) : valueText(values, hover)}>
      {base.view.note !== "" && <p class="note fs-1">{base.view.note}</p>}
      <PictureCanvas
        values={values}
        scale={scale}
        tile={start.tiles + (canMove ? 0 : whole.first_tile)}
        isPending={shown.isPending}
        onHover={setHover}
        onChoose={choose}
      />
      {shown.missing !== null && <p class="note fs-1">{shown.missing}</p>}
      {numPages > 1 && (
        <Stepper
          style="row stepper pager"
          label="Tiles"
          thing="Tiles"
          hasBefore={page > 0}
          hasAfter={page < numPages - 1}
          step={(by) => setPage((now) => Math.max(0, Math.min(now + by, numPages - 1)))}
        >
          <span class="fs-1 muted">
            {formatCount(page + 1)} of {formatCount(numPages)}
          </span>
        </Stepper>
      )}
      {base.view.min !== null && <ColourScale scale={scale} isAuto={isAuto} onChange={onScale} />}
    </Section>
  );
}

function pageOfTiles(base: TensorValues, page: number, perPage: number, canMove: boolean): Window {
  const reach = reachOf(base.view.window);
  const grid = gridOf(base.view.shape);
  // A line of values is one picture: it has no pages.
  if (pictureOf(base.view).isStrip) return base.view.window;
  const [from, end] = canMove ? [0, grid.tiles] : [reach.tiles.first, reach.tiles.first + reach.tiles.count];
  const first = Math.max(from, page * perPage);
  return windowOf({
    ...reach,
    tiles: { first, step: 1, count: Math.max(1, Math.min((page + 1) * perPage, end) - first) },
  });
}

function describe(shape: readonly number[], window: Window): string {
  const grid = gridOf(shape);
  const parts: string[] = [];
  if (window.num_tiles < grid.tiles || grid.tiles > 1) {
    const last = window.first_tile + window.num_tiles - 1;
    const range =
      window.num_tiles === 1
        ? `tile ${formatCount(last)}`
        : `tiles ${formatCount(window.first_tile)}–${formatCount(last)}`;
    parts.push(`${range} of ${formatCount(grid.tiles)}`);
  }
  if (shape.length > 0) parts.push(shape.slice(-2).map(formatCount).join("×"));
  const isCut = window.num_rows < grid.rows || window.num_columns < grid.columns;
  if (Math.max(window.row_step, window.column_step) > 1) parts.push(`every ${window.row_step}×${window.column_step}`);
  else if (isCut) parts.push("cut");
  return parts.join(" · ");
}

function valueText({ view, values }: TensorValues, nth: number): string {
  const value = values[nth];
  if (value === undefined) return "";
  return `[${indexOf(view.shape, view.window, nth).join(", ")}]  ${formatExact(value, view.encoding)}`;
}

interface CanvasProps {
  values: TensorValues;
  scale: Scale;
  tile: number;
  isPending: boolean;
  onHover: (nth: number | null) => void;
  onChoose: (nth: number) => void;
}

function PictureCanvas({ values, scale, tile, isPending, onHover, onChoose }: CanvasProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [box, width] = useWidth<HTMLDivElement>(320);
  const model = useMemo(() => pictureOf(values.view), [values]);
  const layout = layOutTiles(model.tiles, model.rows, model.columns, width);
  const size = pictureSize(layout);
  const chosen = model.isStrip || model.tiles === 1 ? -1 : tile - values.view.window.first_tile;
  const tick = store.themeTick.value;
  useEffect(() => {
    if (canvas.current !== null) drawPicture(canvas.current, values.values, model, layout, scale, chosen);
  }, [values, scale.map, scale.low, scale.high, width, chosen, tick]);
  const nthAt = (event: MouseEvent): number | null => {
    const cell = cellAt(layout, model, event.offsetX, event.offsetY);
    if (cell === null) return null;
    const nth = model.nth(cell.tile, cell.row, cell.column);
    return nth < values.values.length ? nth : null;
  };
  const goTo = (by: number) => (): void =>
    onChoose(model.nth(Math.max(0, Math.min(chosen + by, model.tiles - 1)), 0, 0));
  const onKeyDown = (event: KeyboardEvent): boolean =>
    chosen >= 0 &&
    actOn(event, { ArrowRight: goTo(1), ArrowLeft: goTo(-1), ArrowDown: goTo(layout.perLine), ArrowUp: goTo(-layout.perLine) });
  return (
    <div ref={box} class="picture" aria-busy={isPending}>
      <canvas
        ref={canvas}
        role="img"
        tabIndex={0}
        aria-label={summary(values, model, chosen)}
        style={{ width: `${size.width}px`, height: `${size.height}px` }}
        onMouseMove={(event) => onHover(nthAt(event))}
        onMouseLeave={() => onHover(null)}
        onClick={(event) => {
          const nth = nthAt(event);
          if (nth !== null)
            onChoose(model.isStrip ? nth : model.nth(Math.floor(nth / (model.rows * model.columns)), 0, 0));
        }}
        onKeyDown={onKeyDown}
      />
    </div>
  );
}

function summary({ view }: TensorValues, model: PictureModel, chosen: number): string {
  const what = model.isStrip
    ? formatNumberOf(view.num_elements, "value")
    : formatNumberOf(model.tiles, "tile");
  const which = chosen >= 0 ? `, tile ${view.window.first_tile + chosen} chosen` : "";
  return `Picture of ${what}${which}`;
}

/** From this size on, in pixels, a value that is no number gets a hatch that can be seen. */
const HATCHED = 4;

function drawPicture(
  canvas: HTMLCanvasElement,
  values: ArrayLike<number>,
  model: PictureModel,
  layout: TileLayout,
  scale: Scale,
  chosen: number,
): void {
  const size = pictureSize(layout);
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(size.width * ratio));
  canvas.height = Math.max(1, Math.round(size.height * ratio));
  const context = canvas.getContext("2d");
  if (context === null) return;
  context.scale(ratio, ratio);
  context.imageSmoothingEnabled = false;
  const palette = readPalette(scale.map);
  const { rows, columns } = model;
  const small = new OffscreenCanvas(columns, rows);
  const [width, height] = [layout.width / columns, layout.height / rows];
  for (let tile = 0; tile < model.tiles; tile++) {
    const from = model.nth(tile, 0, 0);
    const pixels = paintValues(values, from, columns, rows, scale, palette);
    // The end of the last row of a strip has no values.
    pixels.fill(0, Math.max(0, values.length - from) * 4);
    small.getContext("2d")?.putImageData(new ImageData(pixels, columns, rows), 0, 0);
    const { x, y } = tileCorner(layout, tile);
    context.drawImage(small, x, y, layout.width, layout.height);
    if (Math.min(width, height) < HATCHED) continue;
    for (let nth = 0; nth < rows * columns; nth++) {
      const value = values[from + nth];
      if (value === undefined || !Number.isNaN(value)) continue;
      hatch(context, x + (nth % columns) * width, y + Math.floor(nth / columns) * height, width, height, palette);
    }
  }
  if (chosen < 0 || chosen >= model.tiles) return;
  // On data, selection is an ink outline, so that it survives every colour map.
  const { x, y } = tileCorner(layout, chosen);
  context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--text").trim();
  context.lineWidth = 2;
  context.strokeRect(x + 1, y + 1, layout.width - 2, layout.height - 2);
}

function hatch(context: CanvasRenderingContext2D, x: number, y: number, width: number, height: number, palette: Palette): void {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.fillStyle = `rgb(${palette.surface.join()})`;
  context.fillRect(x, y, width, height);
  context.strokeStyle = `rgb(${palette.danger.join()})`;
  context.lineWidth = 1.2;
  context.beginPath();
  const gap = Math.max(3, Math.min(8, Math.min(width, height) / 3));
  for (let at = -height; at < width; at += gap) {
    context.moveTo(x + at, y + height);
    context.lineTo(x + at + height, y);
  }
  context.stroke();
  context.restore();
}
