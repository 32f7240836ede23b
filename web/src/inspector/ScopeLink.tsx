/** The name of a module, which selects it. */
import * as store from "../store";

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
