/** Draw the picture of a tensor on a canvas. */
import { pictureSize, tileCorner, type TileLayout } from "../../data/tensor-tiles";
import type { PictureModel } from "../../data/tensor-window";
import { paintValues, type Palette, readPalette, type Scale } from "../../ui/colour-scale";

/** From this size on, in pixels, a value that is no number gets a hatch that can be seen. */
const HATCHED = 4;

export function drawPicture(
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
  const small = document.createElement("canvas");
  small.width = model.columns;
  small.height = model.rows;
  for (let tile = 0; tile < model.tiles; tile++) {
    drawTile(small, values, model, tile, scale, palette);
    const { x, y } = tileCorner(layout, tile);
    context.drawImage(small, x, y, layout.width, layout.height);
    hatchNaN(context, values, model, tile, layout, palette);
  }
  if (chosen >= 0 && chosen < model.tiles) outline(context, layout, chosen);
}

function drawTile(
  small: HTMLCanvasElement,
  values: ArrayLike<number>,
  model: PictureModel,
  tile: number,
  scale: Scale,
  palette: Palette,
): void {
  const from = model.nth(tile, 0, 0);
  const pixels = paintValues(values, from, model.columns, model.rows, scale, palette);
  const past = values.length - from;
  // The end of the last row of a strip has no values.
  if (past < model.rows * model.columns) pixels.fill(0, past * 4);
  small.getContext("2d")?.putImageData(new ImageData(pixels, model.columns, model.rows), 0, 0);
}

function hatchNaN(
  context: CanvasRenderingContext2D,
  values: ArrayLike<number>,
  model: PictureModel,
  tile: number,
  layout: TileLayout,
  palette: Palette,
): void {
  const [width, height] = [layout.width / model.columns, layout.height / model.rows];
  if (Math.min(width, height) < HATCHED) return;
  const corner = tileCorner(layout, tile);
  for (let row = 0; row < model.rows; row++) {
    for (let column = 0; column < model.columns; column++) {
      const value = values[model.nth(tile, row, column)];
      if (value === undefined || !Number.isNaN(value)) continue;
      const [x, y] = [corner.x + column * width, corner.y + row * height];
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
  }
}

/** On data, selection is an ink outline, so that it survives every colour map. */
function outline(context: CanvasRenderingContext2D, layout: TileLayout, chosen: number): void {
  const { x, y } = tileCorner(layout, chosen);
  context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--text").trim();
  context.lineWidth = 2;
  context.strokeRect(x + 1, y + 1, layout.width - 2, layout.height - 2);
}
