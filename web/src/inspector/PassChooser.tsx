/** Which pass of a layer that ran several times, where all of them are one node. */
import { formatCount } from "../format";
import { Icon } from "../shell/Icon";

interface Props {
  count: number;
  at: number;
  onStep: (by: number) => void;
}

export function PassChooser({ count, at, onStep }: Props) {
  return (
    <div class="pad-s row stepper" role="group" aria-label="Pass of this layer">
      <button class="btn sm square" aria-label="Pass before" disabled={at === 0} onClick={() => onStep(-1)}>
        <Icon name="left" />
      </button>
      <span class="fs-2">
        pass {formatCount(at + 1)} of {formatCount(count)}
      </span>
      <button
        class="btn sm square"
        aria-label="Pass after"
        disabled={at === count - 1}
        onClick={() => onStep(1)}
      >
        <Icon name="right" />
      </button>
    </div>
  );
}
