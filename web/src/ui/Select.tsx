/** One of several words to choose from a list. */
import type { AriaAttributes } from "preact";

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
