/** How the room beside the form is shared out: how wide the network is, and how high the upper row. */
import { signal } from "@preact/signals";
import { recall, remember } from "../remembered";

interface Size {
  readonly least: number;
  readonly most: number;
  readonly first: number;
}

/** In pixels and in hundredths of the height. */
export const SIZES = {
  network: { least: 240, most: 720, first: 368 },
  upper: { least: 25, most: 80, first: 49 },
} as const satisfies Record<string, Size>;

export type SizeName = keyof typeof SIZES;

export const sizes = signal<Readonly<Record<SizeName, number>>>({
  network: recalled("network"),
  upper: recalled("upper"),
});

function recalled(name: SizeName): number {
  const known = Number(recall(`control-${name}`));
  return known > 0 ? within(name, known) : SIZES[name].first;
}

function within(name: SizeName, size: number): number {
  return Math.max(SIZES[name].least, Math.min(SIZES[name].most, Math.round(size)));
}

export function resize(name: SizeName, size: number): void {
  sizes.value = { ...sizes.peek(), [name]: within(name, size) };
  remember(`control-${name}`, String(sizes.peek()[name]));
}
