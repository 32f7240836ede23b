/** Which series of a run belong to an op: those named after its module or its parameters. */
import type { PassDocument, SeriesListing } from "../wire";

/** The addresses that an op goes by: its module's, and those of its parameters. The model itself has none. */
export function addressesOf(document: PassDocument, opIndex: number): readonly string[] {
  const op = document.ops[opIndex];
  if (op === undefined) return [];
  const found = new Set<string>();
  const module = moduleOf(document, op.scope);
  if (module !== "") found.add(module);
  for (const param of op.params) {
    const address = document.params[param]?.address ?? "";
    if (address !== "") found.add(address);
  }
  if (op.kind === "buffer" && op.name !== "") found.add(op.name);
  return [...found];
}

/** Ops of a function that was opened up belong to the module around it. */
function moduleOf(document: PassDocument, scope: number): string {
  for (let at = scope; at >= 0; at = document.scopes[at]?.parent ?? -1) {
    const address = document.scopes[at]?.address;
    if (typeof address === "string") return address;
  }
  return "";
}

/** `features.0` owns `features.0`, `features.0.Act` and `norms/features.0.weight`, and nothing of `features.01`. */
export function isNamedAfter(name: string, address: string): boolean {
  for (let from = name.indexOf(address); from >= 0; from = name.indexOf(address, from + 1)) {
    const [before, after] = [name[from - 1], name[from + address.length]];
    const beginsHere = before === undefined || before === "/";
    if (beginsHere && (after === undefined || "./:".includes(after))) return true;
  }
  return false;
}

/** In the order of the alphabet. */
export function seriesNamedAfter(
  series: Iterable<SeriesListing>,
  addresses: readonly string[],
): readonly SeriesListing[] {
  return [...series]
    .filter(({ name }) => addresses.some((address) => isNamedAfter(name, address)))
    .sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
}
