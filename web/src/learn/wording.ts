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

const NOT_FINITE: Readonly<Record<string, string>> = { nan: "NaN", inf: "\u221e", "-inf": "\u2212\u221e" };

/** The loss as the time bar says it; empty where there is none. */
export function lossSaid(): string {
  const value = lossText.value;
  if (value === null) return "";
  if (typeof value === "number") return decimalText(value, 4);
  return NOT_FINITE[value] ?? value;
}
