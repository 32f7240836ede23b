/** What the page may ask of the stage, while there is one. */
import { signal } from "@preact/signals";
import type { ScreenPlace } from "./camera";
import type { UnitPlace } from "./store";
import type { VideoTaking } from "./exporting";

export interface StageControl {
  fit(): void;
  zoomBy(factor: number): void;
  /** 1 to 4. Nothing happens where none was saved. */
  useCamera(slot: number): void;
  saveCamera(slot: number): void;
  /** Of the element, or of the stage alone. */
  toggleFullScreen(element?: Element): void;
  savePicture(fileStem: string): Promise<void>;
  /** From now on, until it is stopped. Throws a sentence where the browser cannot. */
  startVideo(fileStem: string): VideoTaking;
  /** In CSS pixels from the corner of the stage; null where it is not in the picture. */
  placeOnScreen(place: UnitPlace): ScreenPlace | null;
  /** The unit that is drawn there. */
  unitAt(x: number, y: number): UnitPlace | null;
}

export const stage = signal<StageControl | null>(null);
/** The saved camera that is in use, until it is moved. */
export const usedCamera = signal<number | null>(null);
export const savedCameras = signal<ReadonlySet<number>>(new Set());
