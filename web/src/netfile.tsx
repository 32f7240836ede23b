/** The page that is one file and shows the network of a run, whose data stand in it. */
import { effect } from "@preact/signals";
import { NetPage } from "./net-page";
import { UnreadablePage } from "./netview/UnreadablePage";
import { go, nameView, route } from "./route";
import { startRuns } from "./runs/store";
import { startSession } from "./session";
import { startEmbedded } from "./source/embedded";
import { EmbeddedNetSource } from "./source/embedded-net";
import { start } from "./starting";
import "./theme/runs.css";

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
