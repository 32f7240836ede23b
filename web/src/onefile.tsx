/** The page that is one file, whose data stand in it: a single pass, or the network of a run. */
import { effect } from "@preact/signals";
import { NetViewPage } from "./netview/NetViewPage";
import { go, nameView, route } from "./route";
import { startRuns } from "./runs/store";
import { startSession } from "./session";
import { GraphPage } from "./shell/GraphPage";
import { EmbeddedSource } from "./source/embedded";
import { EmbeddedNetSource } from "./source/embeddednet";
import { Refusal } from "./source/source";
import { start } from "./starting";
import * as store from "./store";

const network = document.getElementById("torcheer-net");

function startPass(): void {
  try {
    const source = new EmbeddedSource(document.getElementById("torcheer-data")?.textContent ?? "");
    store.pageNotes.value = source.notes;
    startSession(source);
  } catch (reason) {
    fail(reason, "history.to_html(path)");
  }
}

function startNetwork(): void {
  try {
    const source = new EmbeddedNetSource(network?.textContent ?? "");
    // There is one view, whatever the address says.
    nameView("netview");
    effect(() => {
      if (route.value.view !== "netview") go("netview");
    });
    startSession(source);
    startRuns(source);
  } catch (reason) {
    fail(reason, "view.write_html(path)");
  }
}

/** A refusal says it all; any other error is that of a file which was cut off or changed. */
function fail(reason: unknown, remedy: string): void {
  const detail = reason instanceof Error ? reason.message : String(reason);
  const why = reason instanceof Refusal ? detail : `Its data is damaged (${detail}). Write it again with ${remedy}.`;
  store.opening.value = { state: "failed", name: "This page", reason: why };
}

if (network === null) start({ graph: GraphPage }, startPass);
else start({ graph: GraphPage, netview: NetViewPage }, startNetwork);
