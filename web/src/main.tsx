/** Start the page: from the data that stands in it, or from the server that sent it. */
import { render } from "preact";
import { startFinding } from "./modules/finding";
import { keepSelection, startSession } from "./session";
import { App } from "./shell/App";
import { startKeys } from "./shell/keys";
import { startPanels } from "./shell/panels";
import { EmbeddedSource } from "./source/embedded";
import { Refusal } from "./source/source";
import { pageWiring, SocketSource } from "./source/socket";
import * as store from "./store";
import { startTheme } from "./theme/theme";
import "./theme/tokens.css";
import "./theme/base.css";
import "./theme/controls.css";
import "./theme/shell.css";
import "./theme/panels.css";
import "./theme/data.css";

function startSource(): void {
  const data = document.getElementById("torcheer-data");
  if (data === null) {
    startSession(new SocketSource(pageWiring()));
    return;
  }
  try {
    const source = new EmbeddedSource(data.textContent);
    store.pageNotes.value = source.notes;
    startSession(source);
  } catch (reason) {
    store.opening.value = { state: "failed", name: "This page", reason: whyUnreadable(reason) };
  }
}

/** A refusal says it all; any other error is that of a file which was cut off or changed. */
function whyUnreadable(reason: unknown): string {
  if (reason instanceof Refusal) return reason.message;
  const detail = reason instanceof Error ? reason.message : String(reason);
  return `Its data is damaged (${detail}). Write it again with history.to_html(path).`;
}

startTheme();
startPanels();
startKeys();
startFinding();
keepSelection();
startSource();
const root = document.getElementById("app") ?? document.body;
// What stood there for pages without scripts.
root.replaceChildren();
render(<App />, root);
