/** What the NetView shows: written by the page and by the drawing, read by both. */
import { computed, signal } from "@preact/signals";
import type { NetLayer, NetScene, NetVariable } from "../../wire";

/** The codes in the levels of a block; see app/netview/net_messages.py. */
export const LEVELS = 65_531;
export const NOT_THERE = 65_532;
export const MINUS_INFINITY = 65_533;
export const PLUS_INFINITY = 65_534;
export const NOT_A_NUMBER = 65_535;

/** The values of one layer: a level for each unit, between low and high. */
export interface PlateValues {
  readonly levels: Uint16Array;
  readonly low: number;
  readonly high: number;
  /** Of the record: earlier than the moment where nothing was recorded then. */
  readonly step: number;
  /** Why there is nothing; empty where there is. */
  readonly why: string;
}

export interface UnitPlace {
  readonly layer: string;
  /** Its number: the flat index into the tensor of one item. Of a colour picture that of the first map. */
  readonly unit: number;
}

export interface PointedPlace extends UnitPlace {
  /** Where time runs along the plate: which of its moments, counted from the first. */
  readonly moment?: number | undefined;
}

export type MapName = "diverging" | "sequential" | "coldhot" | "grey";

export const scene = signal<NetScene | null>(null);
export const variables = signal<readonly NetVariable[]>([]);

/** The variable that is shown: Act, r.Wt… */
export const variable = signal("Act");
export const item = signal(0);

/** What is shown now, by layer. A layer without an entry is not known yet: its old values stay. */
export const values = signal<ReadonlyMap<string, PlateValues>>(new Map());

/** The last moments of each layer as [moment][unit], where the raster is asked for; null otherwise. */
export interface RasterValues extends PlateValues {
  /** Of the moments. */
  readonly steps: readonly number[];
}
export const raster = signal<ReadonlyMap<string, RasterValues> | null>(null);

export const hasHeight = signal(true);
/** From 0, all are drawn alike, to 1: the smaller a value, the more transparent. */
export const fading = signal(0);
export const isFlat = signal(false);
export const hasArrows = signal(true);
/** Lines from the selected unit to those that it receives from or sends to, where weights are shown. */
export const hasRays = signal(true);

export const hidden = signal<ReadonlySet<string>>(new Set());
/** One layer alone, large; null for all. */
export const isolated = signal<string | null>(null);

export const selected = signal<UnitPlace | null>(null);
export const hovered = signal<PointedPlace | null>(null);

export const shownLayers = computed<readonly NetLayer[]>(() => {
  const layers = scene.value?.layers ?? [];
  const alone = isolated.value;
  if (alone !== null) return layers.filter((layer) => layer.name === alone);
  return layers.filter((layer) => !hidden.value.has(layer.name));
});

export function valueOf(block: Pick<PlateValues, "levels" | "low" | "high">, unit: number): number | null {
  const level = block.levels[unit];
  if (level === undefined || level === NOT_THERE) return null;
  if (level === NOT_A_NUMBER) return Number.NaN;
  if (level === PLUS_INFINITY) return Number.POSITIVE_INFINITY;
  if (level === MINUS_INFINITY) return Number.NEGATIVE_INFINITY;
  return block.low + (level / LEVELS) * (block.high - block.low);
}
