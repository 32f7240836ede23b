/** Hides a side panel, where the page is not wide enough for all of them. */
import { Icon } from "../shell/Icon";
import { panels, setPanel, type Side } from "../shell/panels";

export function HideButton({ side }: { side: Side }) {
  if (panels.value.width === "wide") return null;
  return (
    <button class="btn quiet square" aria-label={`Hide the ${side} panel`} onClick={() => setPanel(side, false)}>
      <Icon name="close" />
    </button>
  );
}
