/** One of several words to choose from a list. */
import type { AriaAttributes } from "preact";
import { colourOf } from "../data/runs";
import type { RunListing } from "../wire";

interface Props extends AriaAttributes {
  id?: string;
  /** Where no label stands around it. */
  label?: string;
  title?: string;
  look?: string;
  value: string;
  options: readonly (readonly [value: string, title: string])[];
  set: (value: string) => void;
}

export function Select({ label, look = "input", value, options, set, ...attributes }: Props) {
  return (
    <select {...attributes} class={look} aria-label={label} value={value} onChange={(event) => set(event.currentTarget.value)}>
      {options.map(([key, name]) => (
        <option key={key} value={key}>
          {name}
        </option>
      ))}
    </select>
  );
}

export function RunSelect({ value, runs, look = "input", set }: Pick<Props, "value" | "look" | "set"> & { runs: readonly RunListing[] }) {
  return (
    <label class="run-select">
      <i class="sw" style={{ background: colourOf(value) }} />
      <Select label="Run" look={look} value={value} options={runs.map(({ id, name }) => [id, name])} set={set} />
    </label>
  );
}

/** With its name beside it. */
export function SelectField({ name, style, ...rest }: Props & { name: string; style: string }) {
  return (
    <label class={style}>
      <span>{name}</span>
      <Select {...rest} />
    </label>
  );
}
