/** The edge between two parts of the page: drag it, or move it with the arrow keys. */
import { followDrag } from "./drag";

interface Props {
  style: string;
  label: string;
  /** Does it stand upright, between left and right? */
  isUpright?: boolean;
  size: number;
  least: number;
  most: number;
  /** What a pixel to the right, or down, is of the size; asked for when a move begins. */
  perPixel: () => number;
  /** In pixels. */
  keyStep: number;
  resize: (size: number) => void;
}

const UPRIGHT_KEYS: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowLeft: -1 };
const LEVEL_KEYS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

export function Separator({ style, label, isUpright = true, size, least, most, perPixel, keyStep, resize }: Props) {
  const onPointerDown = (event: PointerEvent): void => {
    event.preventDefault();
    const place = (of: PointerEvent): number => (isUpright ? of.clientX : of.clientY);
    const [start, unit] = [place(event), perPixel()];
    followDrag(event, (move) => resize(size + unit * (place(move) - start)));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = (isUpright ? UPRIGHT_KEYS : LEVEL_KEYS)[event.key];
    if (by === undefined) return;
    event.preventDefault();
    resize(size + by * keyStep * perPixel());
  };
  return (
    <div
      class={style}
      role="separator"
      tabIndex={0}
      aria-orientation={isUpright ? "vertical" : "horizontal"}
      aria-label={label}
      aria-valuenow={size}
      aria-valuemin={least}
      aria-valuemax={most}
      onPointerDown={onPointerDown}
      onKeyDown={onKeyDown}
    />
  );
}
