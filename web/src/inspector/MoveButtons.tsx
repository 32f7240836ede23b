/** Buttons that move the grid of numbers by a page. */
import { Icon, type IconName } from "../shell/Icon";
import { stripAxis, type AxisName, type Reach, type Start } from "../tensor/window";

interface Props {
  reach: Reach;
  start: Start;
  size: Start;
  onMove: (axis: AxisName, by: number) => void;
}

interface Move {
  readonly axis: AxisName;
  readonly sign: 1 | -1;
  readonly icon: IconName;
  readonly label: string;
}

const GRID_MOVES: readonly Move[] = [
  { axis: "columns", sign: -1, icon: "left", label: "Columns before" },
  { axis: "columns", sign: 1, icon: "right", label: "Columns after" },
  { axis: "rows", sign: -1, icon: "up", label: "Rows before" },
  { axis: "rows", sign: 1, icon: "down", label: "Rows after" },
];

export function MoveButtons({ reach, start, size, onMove }: Props) {
  const strip = stripAxis(reach);
  const moves: readonly Move[] =
    strip === null
      ? GRID_MOVES
      : [
          { axis: strip, sign: -1, icon: "left", label: "Values before" },
          { axis: strip, sign: 1, icon: "right", label: "Values after" },
        ];
  const canGo = ({ axis, sign }: Move): boolean =>
    sign < 0 ? start[axis] > 0 : start[axis] + size[axis] < reach[axis].count;
  return (
    <div class="group" role="group" aria-label="Move the grid">
      {moves.map((move) => (
        <button
          key={move.label}
          class="btn sm square"
          aria-label={move.label}
          disabled={!canGo(move)}
          onClick={() => onMove(move.axis, move.sign * size[move.axis])}
        >
          <Icon name={move.icon} />
        </button>
      ))}
    </div>
  );
}
