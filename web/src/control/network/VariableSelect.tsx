/** Which variable of the units the network shows. */
import { useRef } from "preact/hooks";
import { grouped } from "../../netview/grouping";
import * as view from "../../netview/store";
import { useKey } from "../../tensors/useKey";
import { chooseVariable } from "./following";

export function VariableSelect() {
  const field = useRef<HTMLSelectElement>(null);
  useKey("v", () => field.current?.focus());
  const all = view.variables.value;
  const chosen = all.find(({ name }) => name === view.variable.value);
  return (
    <select
      ref={field}
      class="input sm"
      aria-label="Variable"
      title={chosen?.about}
      value={view.variable.value}
      onChange={(event) => chooseVariable(event.currentTarget.value)}
    >
      {[...grouped(all, ({ group }) => group)].map(([group, variables]) => (
        <optgroup key={group} label={group}>
          {variables.map(({ name, about }) => (
            <option key={name} value={name} title={about}>
              {name}
            </option>
          ))}
        </optgroup>
      ))}
    </select>
  );
}
