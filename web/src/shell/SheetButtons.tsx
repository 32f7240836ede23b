/** On a narrow page: the buttons that bring the side panels as sheets. */
import { Icon } from "./Icon";
import { panelName } from "./panelnames";
import { panels, togglePanel, type Side } from "./panels";

export function SheetButtons() {
  return (
    <>
      <SheetButton side="left" />
      <SheetButton side="right" />
    </>
  );
}

function SheetButton({ side }: { side: Side }) {
  const name = panelName(side);
  if (name === undefined) return null;
  return (
    <button
      class="btn quiet square"
      aria-label={name.title}
      aria-pressed={panels.value[side]}
      onClick={() => togglePanel(side)}
    >
      <Icon name={name.icon} />
    </button>
  );
}
