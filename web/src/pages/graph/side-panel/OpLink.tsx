/** The names of ops and modules, which select them. */
import * as store from "../../../data/store";
import { Links } from "../../../plot/tensor/Facts";

function Link({ name, to }: { name: string; to: string }) {
  return (
    <button
      class="link mono"
      onClick={() => store.goTo(to)}
      onMouseEnter={() => (store.hovered.value = to)}
      onMouseLeave={() => (store.hovered.value = null)}
    >
      {name}
    </button>
  );
}

export function OpLink({ index, text }: { index: number; text?: string | undefined }) {
  const op = store.document.value?.ops[index];
  const key = store.hierarchy.value?.nodeOfOp[index];
  return op === undefined || key === undefined ? null : <Link name={text ?? op.label} to={key} />;
}

export function OpLinks({ indices, textOf }: { indices: readonly number[]; textOf?: (index: number) => string }) {
  return <Links items={indices.map((index) => <OpLink index={index} text={textOf?.(index)} />)} />;
}

export function ScopeLink({ index, text }: { index: number; text?: string }) {
  const scope = store.document.value?.scopes[index];
  const key = store.hierarchy.value?.nodeOfScope[index] ?? null;
  if (scope === undefined) return null;
  const place = scope.address ?? "";
  const name = text ?? (place === "" ? scope.name : place);
  return key === null ? <span class="mono">{name}</span> : <Link name={name} to={key} />;
}
