/** Beside the drawing: colours, search, one point with its neighbours, the selection. */
import { ColourSection } from "./ColourSection";
import { FocusSection } from "./FocusSection";
import { SearchSection } from "./SearchSection";
import { SelectionSection } from "./SelectionSection";

export function PointsPanel() {
  return (
    <aside class="panel points-panel" aria-label="Points">
      <div class="panel-body">
        <ColourSection />
        <SearchSection />
        <FocusSection />
        <SelectionSection />
      </div>
    </aside>
  );
}
