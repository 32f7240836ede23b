/** A page that is one file with one view, or with data that cannot be read. */
import { effect } from "@preact/signals";
import { go, nameView, route, type View } from "../data/route";
import * as store from "../data/store";
import { Blank } from "../ui/Blank";

/** There is one view, whatever the address says. */
export function showOnly(view: View): void {
  nameView(view);
  effect(() => {
    if (route.value.view !== view) go(view);
  });
}

/** In the place of a graph, which is not in the file: why there is nothing to see. */
export function UnreadablePage() {
  const opening = store.opening.value;
  if (opening.state !== "failed") return <main class="main" />;
  return (
    <main class="main">
      <Blank icon="warning" title={`${opening.name} cannot be shown`} isError>
        <span>{opening.reason}</span>
      </Blank>
    </main>
  );
}
