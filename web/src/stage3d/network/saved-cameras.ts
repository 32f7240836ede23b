/** Cameras that were saved for a run, and the last one it was looked at with. */
import { recall, remember } from "../../data/remembered";
import { type Camera, within } from "../camera";
import { startCamera } from "./camera";

/** 1 to 4; 0 is the last. */
export type Slots = ReadonlyMap<number, Camera>;

export const SLOTS = [1, 2, 3, 4] as const;
export const LAST = 0;

export function recallCameras(runKey: string): Slots {
  const slots = new Map<number, Camera>();
  let found: unknown = null;
  try {
    found = JSON.parse(recall(keyOf(runKey)) ?? "null");
  } catch {
    // Somebody else's text: as if there were none.
  }
  if (typeof found !== "object" || found === null) return slots;
  for (const slot of [LAST, ...SLOTS]) {
    const camera = readCamera((found as Record<string, unknown>)[String(slot)]);
    if (camera !== null) slots.set(slot, camera);
  }
  return slots;
}

export function rememberCameras(runKey: string, slots: Slots): void {
  const texts = Object.fromEntries([...slots].map(([slot, camera]) => [slot, writeCamera(camera)]));
  remember(keyOf(runKey), JSON.stringify(texts));
}

function keyOf(runKey: string): string {
  return `netview.cameras.${runKey}`;
}

export function writeCamera({ isFlat, yaw, pitch, distance, target }: Camera): readonly number[] {
  return [Number(isFlat), yaw, pitch, distance, ...target].map((part) => Number(part.toPrecision(8)));
}

/** Null for what is no camera. */
export function readCamera(numbers: unknown): Camera | null {
  if (!Array.isArray(numbers) || numbers.length !== 7) return null;
  if (!numbers.every((part): part is number => typeof part === "number" && Number.isFinite(part))) return null;
  const [isFlat, yaw, pitch, distance, x, y, z] = numbers as [number, number, number, number, number, number, number];
  const camera = startCamera(isFlat === 1);
  const { pitches, distances } = camera.lens;
  return { ...camera, yaw, pitch: within(pitch, pitches), distance: within(distance, distances), target: [x, y, z] };
}
