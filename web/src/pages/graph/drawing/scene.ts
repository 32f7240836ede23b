/** A laid-out picture: layouts inside layouts, where each box is, and what lies under a point. */
import { obtain } from "../../../data/collections";
import { groupsToDepth, shownKeys } from "../../../data/pass/edges";
import type { Chip, Hierarchy } from "../../../data/pass/model";
import type { Rect } from "../../../ui/pan-zoom";
import {
  chipWidth,
  type GroupLayout,
  type PlacedBox,
  type PlacedChip,
  type PlacedWire,
  shownChips,
  SIZES,
} from "../../../ui/graph-layout/layout-graph";

export interface SceneBox extends Rect {
  readonly key: string;
  readonly isOpen: boolean;
  readonly depth: number;
  /** Of an open group: where lines enter at its top, from its left. */
  readonly entries: readonly number[];
}

/** What is to be drawn, at its place in the whole picture. */
export interface Visible {
  readonly frames: SceneBox[];
  readonly boxes: SceneBox[];
  readonly wires: { readonly wire: PlacedWire; readonly x: number; readonly y: number }[];
  readonly chips: { readonly chip: PlacedChip; readonly x: number; readonly y: number }[];
}

/** A group that is open but smaller than this on screen is drawn without its inside. */
const SMALLEST_INSIDE = 10;

const CHIP_REACH = SIZES.widestChip + SIZES.chipArm;

/** Room for the label of a wire. */
const WIRE_REACH = 96;

export class Scene implements Rect {
  readonly x = 0;
  readonly y = 0;
  readonly width: number;
  readonly height: number;
  readonly boxes = new Map<string, SceneBox>();

  /** Where the pass ended, if it raised. */
  readonly failed: readonly SceneBox[];

  /** The tree that it was laid out from: while another is on its way, the old picture keeps its own. */
  constructor(
    readonly hierarchy: Hierarchy,
    private readonly root: number,
    private readonly layouts: ReadonlyMap<number, GroupLayout>,
  ) {
    const layout = layouts.get(root)!;
    this.width = layout.width;
    this.height = layout.height;
    this.walk(layout, 0, 0, 1);
    this.failed = [...this.boxes.values()].filter((box) => !box.isOpen && hierarchy.nodes.get(box.key)!.isFailed);
  }

  private walk(layout: GroupLayout, x: number, y: number, depth: number): void {
    for (const box of layout.boxes) {
      const inner = box.inner === null ? null : this.layouts.get(box.inner)!;
      const entries = inner === null ? NO_ENTRIES : entriesOf(inner);
      const placed = { ...box, x: x + box.x, y: y + box.y, isOpen: inner !== null, depth, entries };
      this.boxes.set(box.key, placed);
      if (inner !== null) this.walk(inner, placed.x, placed.y, depth + 1);
    }
  }

  /** The box that stands for a node: its own, or the closed group around it. */
  boxFor(key: string): SceneBox | undefined {
    const { nodes } = this.hierarchy;
    let at: string | null = nodes.get(key)?.host ?? key;
    while (at !== null && !this.boxes.has(at)) at = nodes.get(at)?.parent ?? null;
    return at === null ? undefined : this.boxes.get(at);
  }

  /** All that touches a part of the picture. Groups outside of it are passed over with all their inside. */
  within(part: Rect, scale: number): Visible {
    const visible: Visible = { frames: [], boxes: [], wires: [], chips: [] };
    this.collect(this.layouts.get(this.root)!, 0, 0, part, scale, visible);
    return visible;
  }

  private collect(layout: GroupLayout, x: number, y: number, part: Rect, scale: number, visible: Visible): void {
    const here = { x: part.x - x, y: part.y - y, width: part.width, height: part.height };
    for (const box of layout.boxes) {
      // Chips stand at the left of a box, and a column of them is taller than it.
      if (!overlap(box, here, box.inner === null ? CHIP_REACH : 0)) continue;
      const placed = this.boxes.get(box.key)!;
      if (box.inner === null) visible.boxes.push(placed);
      else {
        visible.frames.push(placed);
        if (Math.min(box.width, box.height) * scale < SMALLEST_INSIDE) continue;
        this.collect(this.layouts.get(box.inner)!, placed.x, placed.y, part, scale, visible);
      }
    }
    for (const wire of layout.wires) if (overlap(obtain(bounds, wire, () => boundsAlong(wire.path)), here, WIRE_REACH)) visible.wires.push({ wire, x, y });
    for (const chip of layout.chips) if (overlap(chip, here, 0)) visible.chips.push({ chip, x, y });
  }

  /** The key of the innermost box or chip under a point, null for none. */
  at(x: number, y: number, showBuffers: boolean): string | null {
    return this.find(this.layouts.get(this.root)!, x, y, showBuffers);
  }

  private find(layout: GroupLayout, x: number, y: number, showBuffers: boolean): string | null {
    for (const chip of layout.chips) if (contains(chip, x, y)) return chip.keys[0] ?? null;
    for (const box of layout.boxes) {
      if (contains(box, x, y)) {
        if (box.inner === null) return box.key;
        return this.find(this.layouts.get(box.inner)!, x - box.x, y - box.y, showBuffers) ?? box.key;
      }
      const chip = box.inner === null ? this.chipAt(box, x, y, showBuffers) : undefined;
      if (chip !== undefined) return chip.key ?? box.key;
    }
    return null;
  }

  private chipAt(box: PlacedBox, x: number, y: number, showBuffers: boolean): Chip | undefined {
    const node = this.hierarchy.nodes.get(box.key)!;
    if (node.chips.length === 0) return undefined;
    return chipPlaces(box, shownChips(node, showBuffers)).find((place) => contains(place, x, y))?.chip;
  }
}

const NO_ENTRIES: readonly number[] = [];

/** Lines from outside start at the top border. */
function entriesOf({ wires }: GroupLayout): number[] {
  const places = wires.filter((wire) => !wire.hasTail && wire.path[1] === 0).map((wire) => wire.path[0]!);
  return [...new Set(places)].sort((a, b) => a - b);
}

function contains(rect: Rect, x: number, y: number): boolean {
  return x >= rect.x && x <= rect.x + rect.width && y >= rect.y && y <= rect.y + rect.height;
}

/** Where the chips of a box stand: at its left, one below the other. */
export function chipPlaces(box: Rect, chips: readonly Chip[]): (Rect & { readonly chip: Chip })[] {
  const pitch = SIZES.chipHeight + SIZES.chipGap;
  const top = box.y + box.height / 2 - (chips.length * pitch - SIZES.chipGap) / 2;
  return chips.map((chip, index) => {
    const width = chipWidth(chip.text);
    return { chip, x: box.x - SIZES.chipArm - width, y: top + index * pitch, width, height: SIZES.chipHeight };
  });
}

/** Whether two parts of the picture touch, one of them grown on all sides. */
function overlap(one: Rect, other: Rect, reach: number): boolean {
  return (
    one.x - reach <= other.x + other.width &&
    one.y - reach <= other.y + other.height &&
    one.x + one.width + reach >= other.x &&
    one.y + one.height + reach >= other.y
  );
}

/** Bounds of wires are asked for in every frame, and never change. */
const bounds = new WeakMap<PlacedWire, Rect>();

function boundsAlong(path: readonly number[]): Rect {
  let [left, top] = [path[0]!, path[1]!];
  let [right, bottom] = [left, top];
  for (let at = 2; at < path.length; ) {
    const numPoints = path[at] === 0 ? 1 : 3;
    for (let point = 0; point < numPoints; point += 1) {
      const [x, y] = [path[at + 1 + 2 * point]!, path[at + 2 + 2 * point]!];
      left = Math.min(left, x);
      right = Math.max(right, x);
      top = Math.min(top, y);
      bottom = Math.max(bottom, y);
    }
    at += 1 + 2 * numPoints;
  }
  return { x: left, y: top, width: right - left, height: bottom - top };
}

/** A pass of more ops than this starts closed. */
const MANY_OPS = 500;

/** The groups to open without those that are no call of anything: long stretches, the many outputs of a model. */
function modulesToDepth(hierarchy: Hierarchy, depth: number): Set<string> {
  const open = groupsToDepth(hierarchy, depth);
  for (const key of open) if (hierarchy.nodes.get(key)!.scopes.length === 0) open.delete(key);
  return open;
}

export function deepest(hierarchy: Hierarchy): number {
  return [...hierarchy.nodes.values()].reduce((most, { depth }) => Math.max(most, depth), 1);
}

/** Open as deep as the picture stays one that can be read at a glance. */
export function initialOpen(hierarchy: Hierarchy): Set<string> {
  const most = hierarchy.document.ops.length > MANY_OPS ? 48 : 60;
  let open = groupsToDepth(hierarchy, 1);
  for (let depth = 2; depth <= deepest(hierarchy); depth += 1) {
    const next = modulesToDepth(hierarchy, depth);
    if (shownKeys(hierarchy, next).length > most) break;
    open = next;
  }
  return open;
}
