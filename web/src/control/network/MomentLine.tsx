/** Under the network: of which moment it is, which item of the batch, and what the colours stand for. */
import { formatCount, formatValue } from "../../format";
import { cssRamp } from "../../netview/colours";
import { countersNow, step } from "../../netview/moments";
import { goToItem, numItems } from "../../netview/netstate";
import * as view from "../../netview/store";
import { counterText } from "../../netview/wording";
import { Icon } from "../../shell/Icon";
import { themeTick } from "../../store";
import { runNumber } from "./following";

export function MomentLine() {
  const { min, max, map } = view.look.value;
  return (
    <div class={`moment-line fs-1 muted${numItems.value > 1 ? " batch" : ""}`}>
      <span class="clip" title={momentWords(true)}>
        {momentWords(false)}
      </span>
      <span class="grow" />
      {numItems.value > 1 && <ItemSteps />}
      <span class="moment-scale" role="img" aria-label={`Colours from ${formatValue(min)} to ${formatValue(max)}`}>
        <span aria-hidden="true">{formatValue(min, 2)}</span>
        {/* The colours are those of the theme: with another one they are read anew. */}
        <i key={themeTick.value} style={{ background: `linear-gradient(to right, ${cssRamp(map)})` }} />
        <span aria-hidden="true">{formatValue(max, 2)}</span>
      </span>
    </div>
  );
}

/** From the slowest to the fastest, then what is nobody's count. */
const ORDER = ["run", "epoch", "trial"];

/** A moment that is not named is one of the training. */
const USUAL = "train";

/** `epoch 3 · trial 12 · test`, and the run where it is another than is written now, or where all is wanted. */
function momentWords(isFull: boolean): string {
  const now = step.value;
  if (now === null) return "";
  const texts = new Map(countersNow.value);
  if (!isFull && texts.get("run") === String(runNumber.value)) texts.delete("run");
  const counts = ORDER.flatMap((name) => (texts.has(name) ? [`${name} ${counterText(texts.get(name)!)}`] : []));
  const rest = [...texts].filter(([name, text]) => !ORDER.includes(name) && (isFull || text !== USUAL)).map(([, text]) => text);
  return (counts.length === 0 ? [`step ${formatCount(now)}`, ...rest] : [...counts, ...rest]).join(" · ");
}

function ItemSteps() {
  const [at, count] = [view.item.value, numItems.value];
  return (
    <span class="moment-items" role="group" aria-label="Item of the batch" title={`Item ${at} of ${count} in the batch`}>
      <button class="btn quiet sm square" aria-label="Item before" title="Item before ([)" disabled={at === 0} onClick={() => goToItem(at - 1)}>
        <Icon name="left" />
      </button>
      <span>
        {formatCount(at)} / {formatCount(count)}
      </span>
      <button
        class="btn quiet sm square"
        aria-label="Item after"
        title="Item after (])"
        disabled={at === count - 1}
        onClick={() => goToItem(at + 1)}
      >
        <Icon name="right" />
      </button>
    </span>
  );
}
