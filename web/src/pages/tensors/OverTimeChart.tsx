/** The chart of figures over steps. */
import { formatCount } from "../../data/format";
import { areaOf, extentOf, type Figure, nearestX, pathOf } from "../../plot/over-time";
import { formatTicks, linearTicks } from "../../plot/ticks";
import { useWidth } from "../../ui/useWidth";

interface Props {
  figures: readonly Figure[];
  at: number;
  /** The other one of two that are compared. */
  other: number | null;
  hover: number | null;
  onHover: (at: number | null) => void;
  onGo: (at: number) => void;
}

const HEIGHT = 108;
const ZEROS = 26;
const LEFT = 44;
const RIGHT = 8;
const TOP = 6;
const AXIS = 16;

interface Space {
  readonly x: (step: number) => number;
  readonly y: (value: number) => number;
  readonly width: number;
  /** But for the axis of steps. */
  readonly height: number;
}

export function OverTimeChart({ figures, at, other, hover, onHover, onGo }: Props) {
  const [box, width] = useWidth<HTMLDivElement>(600);
  const steps = figures.map(({ step }) => step);
  const [first, last] = [Math.min(...steps), Math.max(...steps)];
  const [low, high] = extentOf(figures) ?? [0, 1];
  const hasZeros = figures.some(({ zeros }) => zeros !== null && zeros > 0);
  const space: Space = {
    x: (step) => LEFT + ((step - first) / Math.max(1, last - first)) * (width - LEFT - RIGHT),
    y: (value) => TOP + (1 - (value - low) / (high - low)) * (HEIGHT - TOP - 4),
    width,
    height: HEIGHT + (hasZeros ? ZEROS : 0),
  };
  const nearest = (event: MouseEvent): number => nearestX(steps.map(space.x), event.offsetX);
  return (
    <div ref={box} class="overtime">
      <svg
        width={width}
        height={space.height + AXIS}
        role="img"
        aria-label={`Figures over ${figures.length} steps from ${first} to ${last}; the time bar goes to a step`}
        onMouseMove={(event) => onHover(nearest(event))}
        onMouseLeave={() => onHover(null)}
        onClick={(event) => onGo(nearest(event))}
      >
        <Grid ticks={linearTicks({ low, high })} space={space} />
        <Lines figures={figures} space={space} />
        {hasZeros && <Zeros figures={figures} space={space} />}
        <BadSteps figures={figures} space={space} />
        <Cursor step={steps[at]} space={space} name={other === null ? "" : "A"} />
        {other !== null && <Cursor step={steps[other]} space={space} name="B" />}
        {hover !== null && <Cursor step={steps[hover]} space={space} name="" isHover />}
        <text x={LEFT} y={space.height + AXIS - 3}>
          {formatCount(first)}
        </text>
        <text class="e" x={width - RIGHT} y={space.height + AXIS - 3}>
          {formatCount(last)}
        </text>
      </svg>
      <Legend figures={figures} hasZeros={hasZeros} />
    </div>
  );
}

function Grid({ ticks, space }: { ticks: readonly number[]; space: Space }) {
  return (
    <>
      {formatTicks(ticks).map((name, at) => (
        <g key={at}>
          <path class="grid" d={`M${LEFT} ${space.y(ticks[at]!)}H${space.width - RIGHT}`} />
          <text class="e" x={LEFT - 6} y={space.y(ticks[at]!) + 4}>
            {name}
          </text>
        </g>
      ))}
    </>
  );
}

interface PartProps {
  figures: readonly Figure[];
  space: Space;
}

function Lines({ figures, space: { x, y } }: PartProps) {
  const line = (pick: (figure: Figure) => number | null): string =>
    pathOf(
      figures.map((figure) => {
        const value = pick(figure);
        return value === null ? null : [x(figure.step), y(value)];
      }),
    );
  const band = areaOf(
    figures.map(({ step, mean, std }) =>
      mean === null || std === null ? null : [x(step), y(mean - std), y(mean + std)],
    ),
  );
  // A line of one point would not be seen.
  const only = figures.length === 1 && figures[0]!.mean !== null ? figures[0] : undefined;
  return (
    <>
      <path class="band" d={band} />
      <path class="limit" d={line(({ min }) => min)} />
      <path class="limit" d={line(({ max }) => max)} />
      <path class="mean" d={line(({ mean }) => mean)} />
      {only !== undefined && <circle class="mean-dot" cx={x(only.step)} cy={y(only.mean ?? NaN)} r={3} />}
    </>
  );
}

function Zeros({ figures, space: { x, width } }: PartProps) {
  const y = (share: number): number => HEIGHT + ZEROS - 2 - share * (ZEROS - 8);
  return (
    <>
      <path class="base" d={`M${LEFT} ${y(0)}H${width - RIGHT}`} />
      <text class="e" x={LEFT - 6} y={y(0)}>
        zeros
      </text>
      <path
        class="zeros"
        d={pathOf(figures.map(({ step, zeros }) => (zeros === null ? null : [x(step), y(zeros)])))}
      />
    </>
  );
}

function BadSteps({ figures, space: { x } }: PartProps) {
  return (
    <>
      {figures.map(({ step, numNan, numInf }, nth) =>
        numNan + numInf === 0 ? null : (
          <path key={nth} class="bad-step" d={`M${x(step)} ${TOP}V${HEIGHT - 4}`}>
            <title>{`step ${step}: ${numNan} NaN, ${numInf} infinite`}</title>
          </path>
        ),
      )}
    </>
  );
}

interface CursorProps {
  step: number | undefined;
  space: Space;
  name: string;
  isHover?: boolean;
}

function Cursor({ step, space, name, isHover = false }: CursorProps) {
  if (step === undefined) return null;
  const x = space.x(step);
  const isAtEnd = x > space.width - 24;
  return (
    <>
      <path class={isHover ? "cursor" : "now"} d={`M${x} ${TOP}V${space.height}`} />
      {name !== "" && (
        <text class={isAtEnd ? "now-name e" : "now-name"} x={isAtEnd ? x - 4 : x + 4} y={TOP + 9}>
          {name}
        </text>
      )}
    </>
  );
}

function Legend({ figures, hasZeros }: { figures: readonly Figure[]; hasZeros: boolean }) {
  const hasBad = figures.some(({ numNan, numInf }) => numNan + numInf > 0);
  return (
    <div class="legend" aria-hidden="true">
      <span>
        <i class="key mean-key" /> mean ± std
      </span>
      <span>
        <i class="key limit-key" /> min, max
      </span>
      {hasZeros && (
        <span>
          <i class="key zeros-key" /> share of zeros
        </span>
      )}
      {hasBad && (
        <span>
          <i class="key bad-key" /> NaN or infinite
        </span>
      )}
    </div>
  );
}
