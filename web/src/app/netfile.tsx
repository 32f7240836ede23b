/** The page that is one file and shows the network of a run, whose data stand in it. */
import { startEmbedded } from "../data/embedded";
import { EmbeddedNetSource } from "../data/embedded-net";
import { startRuns } from "../data/runs";
import { startSession } from "../data/session";
import { NetPage } from "./NetPage";
import { showOnly, UnreadablePage } from "./OneView";
import { start } from "./start";
import "../ui/theme/runs.css";

function begin(json: string): void {
  const source = new EmbeddedNetSource(json);
  showOnly("netview");
  startSession(source);
  startRuns(source);
}

start({ graph: UnreadablePage, netview: NetPage }, () => startEmbedded("torcheer-net", "view.write_html(path)", begin));
