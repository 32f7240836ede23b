/** A point of a chart: its shape says what its colour alone does not. */
interface Props {
  x: number;
  y: number;
  /** Half of its width. */
  size: number;
  shape: number;
  fill: string;
  isOn?: boolean;
}

export function Mark({ x, y, size, shape, fill, isOn = false }: Props) {
  const look = { fill, class: isOn ? "an-mark on" : "an-mark" };
  if (shape === 0) return <circle cx={x} cy={y} r={size} {...look} />;
  if (shape === 1) return <rect x={x - size} y={y - size} width={2 * size} height={2 * size} {...look} />;
  return <path d={`M${x} ${y - size * 1.2}L${x + size * 1.2} ${y + size}H${x - size * 1.2}Z`} {...look} />;
}
