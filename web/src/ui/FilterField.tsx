/** A field that filters what stands below it. The key for it is a slash. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "./Icon";
import { placeSearch } from "./keys";

interface Props {
  label: string;
  placeholder: string;
  value: string;
  /** What is wrong with the text, for the reader. */
  problem: string;
  onChange: (text: string) => void;
  /** Go on to what was found. */
  onLeave: () => void;
}

export function FilterField({ label, placeholder, value, problem, onChange, onLeave }: Props) {
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    placeSearch(field.current);
    return () => placeSearch(null);
  }, []);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (!["ArrowDown", "Enter", "Escape"].includes(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key !== "Escape") onLeave();
    else if (value === "") field.current?.blur();
    else onChange("");
  };
  return (
    <div class="search" role="search">
      <Icon name="search" />
      <input
        ref={field}
        class={problem === "" ? "input" : "input bad"}
        type="text"
        placeholder={placeholder}
        aria-label={label}
        aria-invalid={problem !== ""}
        title={problem === "" ? undefined : problem}
        autocomplete="off"
        spellcheck={false}
        value={value}
        onInput={(event) => onChange(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      {value === "" ? (
        <kbd aria-hidden="true">/</kbd>
      ) : (
        <button class="btn quiet clear" aria-label="Clear the filter" onClick={() => onChange("")}>
          <Icon name="close" />
        </button>
      )}
      {problem !== "" && (
        <span class="hint filter-problem" role="status">
          {problem}
        </span>
      )}
    </div>
  );
}
