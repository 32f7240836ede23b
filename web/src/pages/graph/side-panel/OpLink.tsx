/** The name of an op, which selects it. */
import * as store from "../../../data/store";
import { Links } from "../../../plot/tensor/Facts";

export function OpLink({ index, text }: { index: number; text?: string | undefined }) {
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

export function OpLinks({ indices, textOf }: { indices: readonly number[]; textOf?: (index: number) => string }) {
  return <Links items={indices.map((index) => <OpLink index={index} text={textOf?.(index)} />)} />;
}

// --- The name of a module, which selects it.

export function ScopeLink({ index, text }: { index: number; text?: string }) {
  const scope = store.document.value?.scopes[index];
  const key = store.hierarchy.value?.nodeOfScope[index] ?? null;
  if (scope === undefined) return null;
  const place = scope.address ?? "";
  const name = text ?? (place === "" ? scope.name : place);
  if (key === null) return <span class="mono">{name}</span>;
  return (
    <button class="link mono" onClick={() => store.goTo(key)}>
      {name}
    </button>
  );
}
