/** One of several words to choose from a list. */

interface Props {
  /** Where no label stands around it. */
  label?: string;
  title?: string;
  look?: string;
  value: string;
  options: readonly (readonly [value: string, title: string])[];
  set: (value: string) => void;
}

export function Select({ label, title, look = "input", value, options, set }: Props) {
  return (
    <select class={look} aria-label={label} title={title} value={value} onChange={(event) => set(event.currentTarget.value)}>
      {options.map(([key, name]) => (
        <option key={key} value={key}>
          {name}
        </option>
      ))}
    </select>
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
