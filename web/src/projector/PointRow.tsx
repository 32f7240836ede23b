/** A point in a list: its label and its number, and how far it is where that is known. */
import { formatValue } from "../format";
import * as store from "./store";

interface Props {
  point: number;
  distance?: number;
  /** From 0 to 1: how long its bar is. */
  share?: number;
  /** Of another column than that of its label. */
  found?: string | undefined;
  onChoose: (point: number) => void;
}

export function PointRow({ point, distance, share, found, onChoose }: Props) {
  return (
    <button
      class="point-row"
      aria-current={store.focus.value === point}
      onClick={() => onChoose(point)}
      onMouseEnter={() => (store.hovered.value = point)}
      onMouseLeave={() => (store.hovered.value = null)}
      onFocus={() => (store.hovered.value = point)}
    >
      <span class="grow clip">{store.labelOf(point)}</span>
      {found !== undefined && <span class="clip">{found}</span>}
      <span class="muted">{point}</span>
      {distance !== undefined && <span class="num">{formatValue(distance, 3)}</span>}
      {share !== undefined && <i class="way" style={{ width: `${share * 100}%` }} />}
    </button>
  );
}
