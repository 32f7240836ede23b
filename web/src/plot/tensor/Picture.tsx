/** A tensor as a picture: its tiles side by side, one pixel a value; a click chooses a tile. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatCount, formatExact, formatNumberOf } from "../../data/format";
import type { TensorValues } from "../../data/source";
import * as store from "../../data/store";
import { cellAt, layOutTiles, pictureSize, tilesPerPage } from "../../data/tensor-tiles";
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
import { IconButton } from "../../ui/IconButton";
import type { Scale } from "../../ui/colour-scale";
import { useWidth } from "../../ui/useWidth";
import type { Window } from "../../wire";
import { ColourScale } from "../ColourScale";
import { Section } from "./Facts";
import { drawPicture } from "./drawing";
import type { AnyTensor } from "./subjects";
import { useWindow } from "./useTensor";

interface Props {
  subject: AnyTensor;
  base: TensorValues;
  scale: Scale;
  isAuto: boolean;
  onScale: (scale: Scale | null) => void;
  /** Index in the tensor of the chosen tile. */
  tile: number;
  onChoose: (start: Start) => void;
  canMove: boolean;
}

export function Picture({ subject, base, scale, isAuto, onScale, tile, onChoose, canMove }: Props) {
  const { shape } = base.view;
  const whole = base.view.window;
  const perPage = tilesPerPage(whole.num_rows, whole.num_columns);
  const [page, setPage] = useState(Math.floor(whole.first_tile / perPage));
  const window = pageOfTiles(base, page, perPage, canMove);
  const shown = useWindow(subject, base, window);
  const values = shown.values ?? base;
  const lastTile = canMove ? gridOf(shape).tiles : whole.first_tile + whole.num_tiles;
  const numPages = Math.ceil(lastTile / perPage);
  const turn = (by: number): void => setPage((now) => Math.max(0, Math.min(now + by, numPages - 1)));
  const [hover, setHover] = useState<number | null>(null);
  const remark = hover === null ? describe(shape, values.view.window) : valueText(values, hover);
  const choose = (nth: number): void => {
    const reach = canMove ? fullReach(shape, values.view.window.item) : reachOf(base.view.window);
    const start = startFor(reach, shape, indexOf(shape, values.view.window, nth));
    if (start !== null) onChoose(start);
  };
  return (
    <Section title="Picture" remark={remark}>
      {base.view.note !== "" && <p class="note fs-1">{base.view.note}</p>}
      <PictureCanvas values={values} scale={scale} tile={tile} onHover={setHover} onChoose={choose} />
      {shown.missing !== null && <p class="note fs-1">{shown.missing}</p>}
      {numPages > 1 && <Pager page={page} numPages={numPages} onTurn={turn} isPending={shown.isPending} />}
      {base.view.min !== null && <ColourScale scale={scale} isAuto={isAuto} onChange={onScale} />}
    </Section>
  );
}

/** The window that shows one page of tiles. */
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
  const step = Math.max(window.row_step, window.column_step);
  if (step > 1) parts.push(`every ${window.row_step}×${window.column_step}`);
  else if (isCut(grid, window)) parts.push("cut");
  return parts.join(" · ");
}

function isCut(grid: { rows: number; columns: number }, window: Window): boolean {
  return window.num_rows < grid.rows || window.num_columns < grid.columns;
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
  onHover: (nth: number | null) => void;
  onChoose: (nth: number) => void;
}

function PictureCanvas({ values, scale, tile, onHover, onChoose }: CanvasProps) {
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
  const onKeyDown = (event: KeyboardEvent): void => {
    const to = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: layout.perLine, ArrowUp: -layout.perLine }[
      event.key
    ];
    if (to === undefined || chosen < 0) return;
    event.preventDefault();
    event.stopPropagation();
    const next = Math.max(0, Math.min(chosen + to, model.tiles - 1));
    onChoose(model.nth(next, 0, 0));
  };
  return (
    <div ref={box} class="picture">
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

interface PagerProps {
  page: number;
  numPages: number;
  onTurn: (by: number) => void;
  isPending: boolean;
}

function Pager({ page, numPages, onTurn, isPending }: PagerProps) {
  return (
    <div class="row stepper pager" role="group" aria-label="Tiles" aria-busy={isPending}>
      <IconButton icon="left" label="Tiles before" disabled={page === 0} onClick={() => onTurn(-1)} />
      <span class="fs-1 muted">
        {formatCount(page + 1)} of {formatCount(numPages)}
      </span>
      <IconButton icon="right" label="Tiles after" disabled={page === numPages - 1} onClick={() => onTurn(1)} />
    </div>
  );
}
