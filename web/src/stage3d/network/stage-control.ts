/** What a page may ask of the stage of the network, while there is one. */
import { signal } from "@preact/signals";
import type { PointedPlace } from "../../data/network/store";
import type { ScreenPlace } from "../camera";
import type { VideoTaking } from "./export";

export interface StageControl {
  fit(): void;
  zoomBy(factor: number): void;
  /** 1 to 4. Nothing happens where none was saved. */
  useCamera(slot: number): void;
  saveCamera(slot: number): void;
  /** As a PNG, with the names. */
  picture(): Promise<Blob>;
  /** From now on, until it is stopped. Throws a sentence where the browser cannot. */
  startVideo(): VideoTaking;
  /** In CSS pixels from the corner of the stage; null where it is not in the picture. */
  placeOnScreen(place: PointedPlace): ScreenPlace | null;
  /** The unit that is drawn there. */
  unitAt(x: number, y: number): PointedPlace | null;
}

export const stage = signal<StageControl | null>(null);
/** The saved camera that is in use, until it is moved. */
export const usedCamera = signal<number | null>(null);
export const savedCameras = signal<ReadonlySet<number>>(new Set());
