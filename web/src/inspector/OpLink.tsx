/** The name of an op, which selects it. */
import * as store from "../store";

export function OpLink({ index, text }: { index: number; text?: string }) {
  const op = store.document.value?.ops[index];
  const key = store.hierarchy.value?.nodeOfOp[index];
  if (op === undefined || key === undefined) return null;
  return (
    <button
      class="link mono"
      onClick={() => store.goTo(key)}
      onMouseEnter={() => (store.hovered.value = key)}
      onMouseLeave={() => (store.hovered.value = null)}
    >
      {text ?? op.label}
    </button>
  );
}
