/** Where the tiles of a picture stand, in a panel of a given width. */

export interface TileLayout {
  readonly perLine: number;
  readonly lines: number;
  /** Size of one tile and the way from one to the next, in CSS pixels. */
  readonly width: number;
  readonly height: number;
  readonly gap: number;
}

const GAP = 2;
const MAX_LINES = 4;
const MAX_HEIGHT = 240;
const SMALL = 7;
const MAX_CELL = 20;

/** How many tiles a picture shows at once: small ones (kernels) by sixteens, others by eights. */
export function tilesPerPage(rows: number, columns: number): number {
  return perLineFor(rows, columns) * MAX_LINES;
}

function perLineFor(rows: number, columns: number): number {
  if (Math.max(rows, columns) <= SMALL) return 16;
  // Wide tiles (tokens by features) get a line of their own or share it with few.
  const aspect = columns / Math.max(1, rows);
  return Math.max(1, Math.min(8, Math.round(8 / Math.max(1, aspect))));
}

export function layOutTiles(tiles: number, rows: number, columns: number, panelWidth: number): TileLayout {
  const perLine = Math.max(1, Math.min(tiles, perLineFor(rows, columns)));
  const lines = Math.max(1, Math.ceil(tiles / perLine));
  const room = Math.min((panelWidth - GAP * (perLine - 1)) / perLine, Math.max(24, columns * MAX_CELL));
  const tallest = (MAX_HEIGHT - GAP * (lines - 1)) / lines;
  // A long thin tile is stretched, so that it can be seen: at least 24 px in its short direction.
  const natural = (room * rows) / Math.max(1, columns);
  const height = Math.min(Math.max(natural, Math.min(24, tallest)), Math.max(tallest, 8));
  const scaled = natural > height ? (height * columns) / Math.max(1, rows) : room;
  return { perLine, lines, width: Math.min(room, Math.max(scaled, Math.min(24, room))), height, gap: GAP };
}

export function pictureSize(layout: TileLayout): { width: number; height: number } {
  return {
    width: layout.perLine * (layout.width + layout.gap) - layout.gap,
    height: layout.lines * (layout.height + layout.gap) - layout.gap,
  };
}

export function tileCorner(layout: TileLayout, tile: number): { x: number; y: number } {
  return {
    x: (tile % layout.perLine) * (layout.width + layout.gap),
    y: Math.floor(tile / layout.perLine) * (layout.height + layout.gap),
  };
}

export interface Cell {
  readonly tile: number;
  readonly row: number;
  readonly column: number;
}

/** The value under a point, or null in a gap and past the last tile. */
export function cellAt(
  layout: TileLayout,
  extent: { tiles: number; rows: number; columns: number },
  x: number,
  y: number,
): Cell | null {
  const across = Math.floor(x / (layout.width + layout.gap));
  const down = Math.floor(y / (layout.height + layout.gap));
  const tile = down * layout.perLine + across;
  if (x < 0 || y < 0 || across >= layout.perLine || tile >= extent.tiles) return null;
  const corner = tileCorner(layout, tile);
  const column = Math.floor(((x - corner.x) / layout.width) * extent.columns);
  const row = Math.floor(((y - corner.y) / layout.height) * extent.rows);
  return column < extent.columns && row < extent.rows ? { tile, row, column } : null;
}

/** The width in values at which a line of values is wrapped into a picture. */
export function stripWidth(count: number): number {
  return Math.max(1, Math.min(count, Math.max(16, Math.ceil(Math.sqrt(count * 3)))));
}
