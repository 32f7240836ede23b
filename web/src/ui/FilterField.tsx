/** A field that filters what stands below it. The key for it is a slash. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "./Icon";
import { IconButton } from "./IconButton";
import { actOn, placeSearch } from "./keys";

interface Props {
  label: string;
  placeholder: string;
  value: string;
  problem?: string;
  onChange: (text: string) => void;
  /** Go on to what was found. */
  onLeave: () => void;
  /** What else keys do. */
  keys?: (event: KeyboardEvent) => Readonly<Record<string, () => void>>;
  /** At its end, where something is typed: what was found. Else a button that clears it. */
  children?: ComponentChildren;
}

export function FilterField({ label, placeholder, value, problem = "", onChange, onLeave, keys, children }: Props) {
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    placeSearch(field.current);
    return () => placeSearch(null);
  }, []);
  const leave = (): void => (value === "" ? field.current?.blur() : onChange(""));
  const onKeyDown = (event: KeyboardEvent): boolean =>
    actOn(event, { ArrowDown: onLeave, Enter: onLeave, Escape: leave, ...keys?.(event) });
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
      {value.trim() === "" ? (
        <kbd aria-hidden="true">/</kbd>
      ) : (
        (children ?? (
          <IconButton icon="close" label="Clear the filter" look="btn quiet clear" onClick={() => onChange("")} />
        ))
      )}
      {problem !== "" && (
        <span class="hint filter-problem" role="status">
          {problem}
        </span>
      )}
    </div>
  );
}
