/** A panel that is folded away: a narrow edge with a button that opens it. */
import { Icon } from "./Icon";
import { panelName } from "./panelnames";
import { setPanel, type Side } from "./panels";

export function Rail({ side }: { side: Side }) {
  const name = panelName(side);
  if (name === undefined) return null;
  return (
    <div class={`rail ${side}`}>
      <button
        class="btn quiet square"
        aria-label={`Show ${name.title.toLowerCase()}`}
        onClick={() => setPanel(side, true)}
      >
        <Icon name={name.icon} />
      </button>
      <span aria-hidden="true">{name.title}</span>
    </div>
  );
}
