/** A panel that is folded away: a narrow edge with a button that opens it. */
import { Icon } from "./Icon";
import { setPanel, type Side } from "./panels";

export function Rail({ side }: { side: Side }) {
  const name = side === "left" ? "Modules" : "Inspector";
  return (
    <div class={`rail ${side}`}>
      <button
        class="btn quiet square"
        aria-label={`Show ${name.toLowerCase()}`}
        onClick={() => setPanel(side, true)}
      >
        <Icon name={side === "left" ? "tree" : "details"} />
      </button>
      <span aria-hidden="true">{name}</span>
    </div>
  );
}
