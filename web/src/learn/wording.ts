/** What can be done now and, of what cannot, why. */
import { computed } from "@preact/signals";
import { isConnected } from "../runs/states";
import * as page from "../store";
import { decimalText } from "./numbers";
import { lossText } from "./store";

export const isOneFile = computed(() => page.source.value?.connection.value.state === "one-file");

/** Why the server cannot be asked now; empty where it can. */
export function whyNotAsk(): string {
  if (isOneFile.value) return "This page is one file, without a server.";
  return isConnected.value ? "" : "The connection to the server is lost.";
}

/** The loss as the time bar says it; empty where there is none. */
export function lossSaid(): string {
  const value = lossText.value;
  if (value === null) return "";
  return typeof value === "string" ? value : decimalText(value, 4);
}
