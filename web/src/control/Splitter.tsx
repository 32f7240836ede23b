/** The edge between two parts of the page: drag it, or move it with the arrow keys. */
import { resize, SIZES, sizes, type SizeName } from "./sizes";

interface Props {
  name: SizeName;
  label: string;
  /** Does it stand upright, between left and right? */
  isUpright: boolean;
  /** What a pixel of the pointer is of the size. */
  perPixel: () => number;
}

const KEY_STEPS = 24;
const UPRIGHT_KEYS: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowLeft: -1 };
const LEVEL_KEYS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

export function Splitter({ name, label, isUpright, perPixel }: Props) {
  const size = sizes.value[name];
  const onPointerDown = (event: PointerEvent): void => {
    if (!(event.currentTarget instanceof HTMLElement)) return;
    event.preventDefault();
    const handle = event.currentTarget;
    const place = (of: PointerEvent): number => (isUpright ? of.clientX : of.clientY);
    const [start, unit] = [place(event), perPixel()];
    handle.setPointerCapture(event.pointerId);
    const onMove = (move: PointerEvent): void => resize(name, size + unit * (place(move) - start));
    const onUp = (): void => {
      for (const type of ["pointerup", "pointercancel"] as const) handle.removeEventListener(type, onUp);
      handle.removeEventListener("pointermove", onMove);
    };
    handle.addEventListener("pointermove", onMove);
    for (const type of ["pointerup", "pointercancel"] as const) handle.addEventListener(type, onUp);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = (isUpright ? UPRIGHT_KEYS : LEVEL_KEYS)[event.key];
    if (by === undefined) return;
    event.preventDefault();
    resize(name, size + by * KEY_STEPS * perPixel());
  };
  return (
    <div
      class={`splitter ${isUpright ? "upright" : "level"}`}
      role="separator"
      tabIndex={0}
      aria-orientation={isUpright ? "vertical" : "horizontal"}
      aria-label={label}
      aria-valuenow={size}
      aria-valuemin={SIZES[name].least}
      aria-valuemax={SIZES[name].most}
      onPointerDown={onPointerDown}
      onKeyDown={onKeyDown}
    />
  );
}
