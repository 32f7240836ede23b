/** The page that is one file and shows the network of a run, whose data stand in it. */
import { effect } from "@preact/signals";
import { startEmbedded } from "../data/embedded";
import { EmbeddedNetSource } from "../data/embedded-net";
import { go, nameView, route } from "../data/route";
import { startRuns } from "../data/runs";
import { startSession } from "../data/session";
import { NetPage } from "./NetPage";
import { UnreadablePage } from "./UnreadablePage";
import { start } from "./start";
import "../ui/theme/runs.css";

function begin(json: string): void {
  const source = new EmbeddedNetSource(json);
  // There is one view, whatever the address says.
  nameView("netview");
  effect(() => {
    if (route.value.view !== "netview") go("netview");
  });
  startSession(source);
  startRuns(source);
}

// A graph of a pass is not in it: in its place stands why there is nothing to see.
start({ graph: UnreadablePage, netview: NetPage }, () => startEmbedded("torcheer-net", "view.write_html(path)", begin));
