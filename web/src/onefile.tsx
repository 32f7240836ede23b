/** The page that is one file: a single pass, whose data stand in it. */
import { startSession } from "./session";
import { GraphPage } from "./shell/GraphPage";
import { EmbeddedSource } from "./source/embedded";
import { Refusal } from "./source/source";
import { start } from "./starting";
import * as store from "./store";

function startSource(): void {
  try {
    const source = new EmbeddedSource(document.getElementById("torcheer-data")?.textContent ?? "");
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

start({ graph: GraphPage }, startSource);
