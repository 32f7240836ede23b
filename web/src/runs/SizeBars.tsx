/** How large the outputs of a pass's ops are, as bars in the order they ran. */

const [WIDTH, HEIGHT] = [132, 30];
const STEPS = 8;

export function SizeBars({ sizes, name }: { sizes: readonly number[]; name: string }) {
  const largest = Math.max(1, ...sizes);
  const pitch = Math.min(18, WIDTH / Math.max(1, sizes.length));
  return (
    <svg
      class="size-bars"
      width={WIDTH}
      height={HEIGHT}
      role="img"
      aria-label={`Sizes of the outputs of ${name}`}
    >
      {sizes.map((size, at) => {
        const height = Math.max(1.5, (size / largest) * HEIGHT);
        return (
          <rect
            key={at}
            class={`q${1 + Math.round((size / largest) * STEPS)}`}
            x={WIDTH - pitch * (sizes.length - at)}
            y={HEIGHT - height}
            width={Math.max(0.5, pitch - Math.min(1, pitch * 0.25))}
            height={height}
          />
        );
      })}
    </svg>
  );
}
