/** The steps at which somebody stopped to look, by series, as they stand in the address. */
import { escaped, unescaped } from "./escaping";
import { param, setParams } from "../route";
import type { RecordKind } from "../wire";

const NAME = "at";
const MAX_PINS = 50; // an address has its limits

/** The steps by series, in the order in which they were pinned. */
export type Pins = ReadonlyMap<string, number>;

export function pinKey(kind: RecordKind, name: string): string {
  return `${kind} ${name}`;
}

export function readPins(text: string): Pins {
  const pins = new Map<string, number>();
  for (const part of text.split(",")) {
    const end = part.lastIndexOf("~");
    const step = Number(part.slice(end + 1));
    if (end > 0 && part.length > end + 1 && Number.isSafeInteger(step))
      pins.set(unescaped(part.slice(0, end)), step);
  }
  return pins;
}

export function writePins(pins: Pins): string {
  return [...pins]
    .slice(-MAX_PINS)
    .map(([key, step]) => `${escaped(key)}~${step}`)
    .join(",");
}

/** The step that a series is held at; null where it follows the newest. */
export function pinOf(kind: RecordKind, name: string): number | null {
  return readPins(param(NAME)).get(pinKey(kind, name)) ?? null;
}

/** Hold a series at a step, or let it follow the newest again. */
export function setPin(kind: RecordKind, name: string, step: number | null): void {
  const pins = new Map(readPins(param(NAME)));
  pins.delete(pinKey(kind, name));
  if (step !== null) pins.set(pinKey(kind, name), step);
  setParams({ [NAME]: pins.size === 0 ? null : writePins(pins) });
}
