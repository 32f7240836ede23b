/** The page that is one file and shows a pass, whose data stand in it. */
import { EmbeddedSource, startEmbedded } from "../data/embedded";
import { startSession } from "../data/session";
import * as store from "../data/store";
import { GraphPage } from "../pages/graph/GraphPage";
import { start } from "./start";

function begin(json: string): void {
  const source = new EmbeddedSource(json);
  store.pageNotes.value = source.notes;
  startSession(source);
}

const PAGES = { graph: () => <GraphPage OverRun={null} /> };

start(PAGES, () => startEmbedded("torcheer-data", "history.to_html(path)", begin));
