/** Open passes: the one that the address names, or the first that there is. */
import { effect } from "@preact/signals";
import { messageOf } from "./message-of";
import { takePlace } from "./pass-address";
import { counterparts } from "./pass/edges";
import type { Hierarchy } from "./pass/model";
import { go, param, setParams } from "./route";
import type { PassListing, Source } from "./source";
import * as store from "./store";
import { shownView } from "./views";

/** Nothing of what was seen of another pass means anything in this one. */
const NO_PLACE = { sel: null, open: null };

/** The pass that was opened last because the address asked for it: it is not tried again and again. */
let asked: string | null = null;

let stopBefore = (): void => undefined;

/** Begin to show what a source has, and no longer what another had. */
export function startSession(source: Source): void {
  stopBefore();
  store.source.value = source;
  asked = null;
  stopBefore = effect(() => {
    const passes = source.passes.value;
    const isUp = ["connected", "one-file"].includes(source.connection.value.state);
    const wanted = param("pass");
    // A pass is read when somebody looks at it.
    if (shownView.value !== "graph") return;
    if (wanted !== "" && wanted !== store.passId.peek()) {
      if (wanted !== asked) openWanted(wanted, passes);
      return;
    }
    if (store.passId.peek() !== null) return;
    const first = firstOf(passes);
    if (first !== undefined) void openPass(first);
    else if (isUp) store.opening.value = { state: "empty" };
  });
}

/** The last pass of the first chosen run that has one; of any run where none is chosen, or none has one. */
export function firstOf(passes: readonly PassListing[]): PassListing | undefined {
  for (const runId of param("runs").split(",")) {
    const its = passes.filter((pass) => runId !== "" && pass.run_id === runId);
    if (its.length > 0) return its.reduce((one, other) => ((other.step ?? -1) > (one.step ?? -1) ? other : one));
  }
  return passes[0];
}

/** Also where it is not on the list: a server that reads many runs may not have come to it yet. */
function openWanted(id: string, passes: readonly PassListing[]): void {
  asked = id;
  const listed = passes.find((pass) => pass.id === id);
  void openPass(listed ?? { id, name: "The pass of this address", detail: "", run_id: "", step: null });
}

export function choosePass(pass: PassListing): void {
  asked = null;
  go("graph", { pass: pass.id, ...NO_PLACE });
}

/** What was selected stays selected when the nodes change, in the rolled form and back. */
export function keepSelection(): void {
  let before: Hierarchy | null = null;
  effect(() => {
    const now = store.hierarchy.value;
    const old = before;
    before = now;
    const key = store.selected.peek();
    if (now === null || old === null || key === null || now.form === old.form) return;
    store.select(counterparts(old, now, key)[0] ?? null);
  });
}

export async function openPass(pass: PassListing): Promise<void> {
  const source = store.source.peek();
  if (source === null) return;
  const before = store.passId.peek();
  store.passId.value = pass.id;
  store.opening.value = { state: "loading", name: pass.name, since: Date.now() };
  try {
    const { document, seed } = await source.openPass(pass.id);
    if (store.passId.peek() !== pass.id) return;
    store.showPass(document, seed);
    takePlace();
  } catch (reason) {
    if (store.passId.peek() !== pass.id) return;
    // What was shown before stays: its document is still there.
    store.passId.value = store.document.peek() === null ? pass.id : before;
    store.opening.value = { state: "failed", name: pass.name, reason: messageOf(reason) };
  }
}

/** Forget the attempt that failed and, where there is one, go on with the pass shown before. */
export function dismissFailure(): void {
  if (store.document.peek() === null) return;
  store.opening.value = { state: "shown" };
  asked = null;
  setParams({ pass: store.passId.peek(), ...NO_PLACE });
}
