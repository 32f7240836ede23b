/** The right panel of the exercises: what may be written in an answer. */
import { HideButton } from "../HideButton";
import { ReferenceLines } from "../ReferenceLines";
import { catalogue } from "../store";

export function ReferencePanel() {
  // An answer is one expression.
  const lines = (catalogue.value?.functions ?? []).filter((line) => !line.startsWith("statements:"));
  return (
    <aside class="panel" aria-label="What may be written">
      <div class="panel-head ruled">
        <h2>What may be written</h2>
        <span class="grow" />
        <HideButton side="right" />
      </div>
      {/* It scrolls, so it can have the focus. */}
      <div class="panel-body functions" tabIndex={0} role="region" aria-label="Functions">
        <p class="dim fs-2">An expression of the names that are given, with + - * / ** @ and these:</p>
        <ReferenceLines lines={lines} />
      </div>
    </aside>
  );
}
