/** What stands in a figure before its data does, or in its place: a skeleton, or why there is none. */

interface Props {
  problem: string;
  height: number;
  retry: () => void;
}

export function Waiting({ problem, height, retry }: Props) {
  if (problem === "")
    return <span class="skeleton sec-skeleton late" style={{ height: `${height}px` }} aria-hidden="true" />;
  return (
    <div class="sec-problem" role="alert" style={{ minHeight: `${height}px` }}>
      <b>This could not be shown</b>
      <span>{problem}</span>
      <button class="btn sm" onClick={retry}>
        Try again
      </button>
    </div>
  );
}
