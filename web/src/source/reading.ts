/** Read a pass from JSON: refuse what this page cannot show, keep what JavaScript would round. */
import type { PassDocument } from "../wire";
import { Refusal } from "./source";

export const DOCUMENT_VERSION = 1;

/** Refuse a document that this page would misread. */
export function checkDocument(document: PassDocument): PassDocument {
  const version: unknown = document.version;
  if (typeof version !== "number" || !Array.isArray(document.ops) || !Array.isArray(document.scopes)) {
    throw new Refusal("This is no pass that torcheer wrote: it names no version, ops and modules.");
  }
  if (version > DOCUMENT_VERSION) {
    throw new Refusal(
      `The pass was written by a newer torcheer (form ${version}; this page reads up to ${DOCUMENT_VERSION}). ` +
        "Open it with that version.",
    );
  }
  return document;
}

/**
 * The seed as digits. It has up to 64 bits, of which a JavaScript number keeps 53, so it is read from the text.
 * A string in the data cannot pass for the key: its quotes would be escaped.
 */
export function seedDigits(json: string): string | null {
  return /"random_seed":\s*(-?\d+)/.exec(json)?.[1] ?? null;
}
