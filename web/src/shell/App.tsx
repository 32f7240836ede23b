/** The whole page: top bar, the view that the address names, what floats above it. */
import type { Pages } from "../starting";
import { ConnectionToast } from "./ConnectionToast";
import { KeysDialog } from "./KeysDialog";
import { RunNews } from "./RunNews";
import { TopBar } from "./TopBar";
import { shownView } from "./views";

export function App({ pages }: { pages: Pages }) {
  const view = shownView.value;
  const Page = view === null ? Waiting : (pages[view] ?? pages.graph);
  return (
    <div class="app">
      <TopBar />
      <Page />
      <ConnectionToast />
      <RunNews />
      <KeysDialog />
    </div>
  );
}

/** For a moment: the server has not said yet what there is to see. */
function Waiting() {
  return <main class="main" aria-busy="true" />;
}
