/** Where each spot stands: the longest way straight down the middle, all others near what they are tied to. */
import type { Spot } from "./ordering";

const GAP_ACROSS = 40;
const GAP_DOWN = 19;
const GAP_BENT = 42;
const LINE_GAP = 18;
const SWEEPS = 10;
/** How much a spot resists being pushed aside. */
const SPINE = 1e6;
const LINE = 8;
const VALUE = 2;

/** Set x and y of all spots, which are their middles. */
export function placeRows(spots: readonly Spot[], rows: readonly (readonly number[])[]): void {
  const ordered = rows.map((row) => row.map((at) => spots[at]!));
  for (const row of ordered) settle(row, () => 0);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    for (const row of sweep % 2 === 0 ? ordered : ordered.toReversed()) {
      settle(row, (spot) => wantedOf(spot, spots, sweep % 2 === 0));
    }
  }
  placeDown(ordered);
}

function wantedOf(spot: Spot, spots: readonly Spot[], isDown: boolean): number {
  if (spot.isSpine) return 0;
  const [first, second] = isDown ? [spot.above, spot.below] : [spot.below, spot.above];
  const ties = first.length > 0 ? first : second;
  if (ties.length === 0) return spot.x;
  return ties.reduce((sum, at) => sum + spots[at]!.x, 0) / ties.length;
}

interface Block {
  sum: number;
  weight: number;
  readonly spots: Spot[];
}

/**
 * As near to where they want to be as their order and their widths allow: neighbours that would overlap move
 * together, to the mean of their wishes.
 */
function settle(row: readonly Spot[], wanted: (spot: Spot) => number): void {
  const offsets = offsetsOf(row);
  const blocks: Block[] = [];
  for (const [at, spot] of row.entries()) {
    const weight = spot.isSpine ? SPINE : spot.node === null ? LINE : VALUE;
    let block: Block = { sum: weight * (wanted(spot) - offsets[at]!), weight, spots: [spot] };
    for (let last = blocks.at(-1); last !== undefined && meanOf(last) > meanOf(block); last = blocks.at(-1)) {
      blocks.pop();
      block = { sum: last.sum + block.sum, weight: last.weight + block.weight, spots: [...last.spots, ...block.spots] };
    }
    blocks.push(block);
  }
  let at = 0;
  for (const block of blocks) {
    for (const spot of block.spots) {
      spot.x = meanOf(block) + offsets[at]!;
      at += 1;
    }
  }
}

function meanOf({ sum, weight }: Block): number {
  return sum / weight;
}

/** How far the middle of each is from that of the first, where they stand as close as they may. */
function offsetsOf(row: readonly Spot[]): number[] {
  let offset = 0;
  return row.map((spot, at) => {
    const before = row[at - 1];
    if (before !== undefined) {
      const gap = before.node === null || spot.node === null ? LINE_GAP : GAP_ACROSS;
      offset += (before.width + spot.width) / 2 + gap;
    }
    return offset;
  });
}

/**
 * Each row as high as what stands above it allows. Inputs that stand aside do not push the others down: they go
 * lower by themselves where something is in their way.
 */
function placeDown(rows: readonly (readonly Spot[])[]): void {
  const placed: Spot[] = [];
  let before: number | null = null;
  for (const row of rows) {
    const firm = row.some(({ isLeaf }) => !isLeaf) ? row.filter(({ isLeaf }) => !isLeaf) : row;
    const least = before === null ? Math.max(0, ...row.map(({ height }) => height / 2)) : before + 2 * GAP_DOWN;
    const middle = Math.max(least, ...firm.map((spot) => clearOf(spot, placed)));
    for (const spot of row) spot.y = Math.max(middle, clearOf(spot, placed));
    placed.push(...row);
    before = middle;
  }
}

/** The highest middle at which a spot is clear of what is placed already. */
function clearOf(spot: Spot, placed: readonly Spot[]): number {
  let middle = -Infinity;
  for (const other of placed) {
    if (!overlapAcross(spot, other)) continue;
    // A line that bends needs room for it.
    const isBent = other.below.includes(spot.index) && Math.abs(other.x - spot.x) > 8;
    middle = Math.max(middle, other.y + (other.height + spot.height) / 2 + (isBent ? GAP_BENT : GAP_DOWN));
  }
  return middle;
}

function overlapAcross(one: Spot, other: Spot): boolean {
  return Math.abs(one.x - other.x) < (one.width + other.width) / 2 + GAP_DOWN;
}
