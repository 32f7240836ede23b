/** One run of the list: its box, its colour, its name, and how it stands where that matters. */
import { Icon } from "../shell/Icon";
import type { RunListing } from "../wire";
import { StateBadge } from "./StateBadge";
import { shownState } from "./states";
import * as runs from "./store";

export function RunListRow({ run }: { run: RunListing }) {
  const isChosen = runs.isChosen(run.id);
  const only = (): void => runs.chooseAll([run.id]);
  const onClick = (event: MouseEvent): void => {
    if (!event.altKey) return;
    event.preventDefault();
    only();
  };
  return (
    <li class={isChosen ? "chosen" : undefined}>
      <label onClick={onClick} title={run.comment === "" ? run.name : `${run.name}\n${run.comment}`}>
        <input
          type="checkbox"
          aria-label={`Show ${run.name}`}
          checked={isChosen}
          onChange={(event) => runs.choose(run.id, event.currentTarget.checked)}
        />
        <i class={isChosen ? "sw" : "sw none"} style={{ "--c": runs.colourOf(run.id) }} />
        <span class="clip">{run.name}</span>
      </label>
      <Badge run={run} />
      <button
        class="btn quiet only"
        aria-label={`Show only ${run.name}`}
        title="Show only this run"
        onClick={only}
      >
        <Icon name="only" />
      </button>
    </li>
  );
}

/** Only what is out of the ordinary: a run that has ended as it should needs no word. */
function Badge({ run }: { run: RunListing }) {
  const { style, word } = shownState(run);
  if (style === "") return null;
  return <StateBadge run={run} word={style === "live" ? "live" : word} />;
}
