/** Begin with the data that stand in a page which is one file, or say why that cannot be. */
import * as store from "../store";
import { Refusal } from "./source";

/** `id`: of the element with the data. `remedy`: what writes such a file. */
export function startEmbedded(id: string, remedy: string, begin: (json: string) => void): void {
  try {
    begin(document.getElementById(id)?.textContent ?? "");
  } catch (reason) {
    // A refusal says it all; any other error is that of a file which was cut off or changed.
    const detail = reason instanceof Error ? reason.message : String(reason);
    const why = reason instanceof Refusal ? detail : `Its data is damaged (${detail}). Write it again with ${remedy}.`;
    store.opening.value = { state: "failed", name: "This page", reason: why };
  }
}
