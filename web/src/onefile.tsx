/** The page that is one file and shows a pass, whose data stand in it. */
import { startSession } from "./session";
import { GraphPage } from "./shell/GraphPage";
import { EmbeddedSource, startEmbedded } from "./source/embedded";
import { start } from "./starting";
import * as store from "./store";

function begin(json: string): void {
  const source = new EmbeddedSource(json);
  store.pageNotes.value = source.notes;
  startSession(source);
}

start({ graph: GraphPage }, () => startEmbedded("torcheer-data", "history.to_html(path)", begin));
