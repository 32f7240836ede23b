/** Zoom, fit, how deep modules are open, and which way the pass is shown. */
import { batch } from "@preact/signals";
import { formatCount } from "../../../data/format";
import { counterparts } from "../../../data/pass/edges";
import * as store from "../../../data/store";
import { FitButton, ZoomButtons } from "../../../ui/controls";
import { fit, zoomBy } from "./camera";
import { deepest } from "./scene";
import { camera, numHidden } from "./view-state";

export function ZoomBar() {
  return (
    <div class="float graph-bar" role="toolbar" aria-label="View">
      <ZoomButtons scale={camera.value.scale} zoomBy={zoomBy} />
      <span class="sep" />
      <FitButton fit={fit} />
      <span class="sep" />
      <DepthSelect />
      {numHidden.value > 0 && (
        <span class="graph-hidden muted" title="Ops inside closed modules">
          {formatCount(numHidden.value)} hidden
        </span>
      )}
      <Switches />
    </div>
  );
}

/** How many levels of modules are open; empty once they differ. */
function DepthSelect() {
  const tree = store.hierarchy.value;
  if (tree === null) return null;
  const levels = deepest(tree);
  if (levels < 2) return null;
  const choose = (event: Event): void => {
    const select = event.currentTarget as HTMLSelectElement;
    if (select.value !== "") store.openToDepth(Number(select.value));
    // The choice is an action, not a state: modules can be opened one by one as well.
    select.value = "";
  };
  return (
    <select class="input graph-depth" aria-label="Expand to depth" value="" onChange={choose}>
      <option value="" disabled hidden>
        Expand
      </option>
      {Array.from({ length: levels }, (_, depth) => (
        <option key={depth} value={depth}>
          {depth === 0 ? "Collapse all" : depth === levels - 1 ? "Expand all" : `Expand to depth ${depth}`}
        </option>
      ))}
    </select>
  );
}

/** What can be shown in two ways, each offered where the pass has something of it. */
function Switches() {
  const pass = store.document.value;
  if (pass === null) return null;
  const [isRolled, isBackward, showsBuffers] = [store.form.value === "rolled", store.flow.value === "backward", store.showBuffers.value];
  const all = [
    {
      name: "Rolled", hint: "One box for all passes of a layer", isOn: isRolled, flip: switchForm,
      isOffered: pass.ops.some((op) => op.num_passes > 1),
    },
    {
      name: "Backward", hint: "The way of the gradients", isOn: isBackward, isOffered: pass.num_backward_passes > 0,
      flip: () => (store.flow.value = isBackward ? "forward" : "backward"),
    },
    {
      name: "Buffers", hint: undefined, isOn: showsBuffers, isOffered: pass.ops.some((op) => op.kind === "buffer"),
      flip: () => (store.showBuffers.value = !showsBuffers),
    },
  ];
  return all.map(({ name, hint, isOn, isOffered, flip }) => isOffered && (
    <button key={name} class="btn quiet" aria-pressed={isOn} title={hint} onClick={() => flip()}>
      {name}
    </button>
  ));
}

// --- Switch between the rolled and the unrolled form and keep what is open. (The session keeps what is
//   selected.)

function switchForm(): void {
  const before = store.hierarchy.peek();
  batch(() => {
    store.form.value = store.form.peek() === "rolled" ? "unrolled" : "rolled";
    const after = store.hierarchy.value;
    if (before === null || after === null) return;
    const open = [...store.openGroups.peek()].flatMap((key) => counterparts(before, after, key));
    store.openGroups.value = new Set(open.filter((key) => after.nodes.get(key)?.kind === "group"));
  });
}
