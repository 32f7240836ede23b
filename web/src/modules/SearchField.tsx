/** The field to find a module or op. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { formatCount } from "../format";
import { Icon } from "../shell/Icon";
import { placeSearch } from "../shell/keys";
import { current, hits, query, search, step } from "./finding";

export function SearchField() {
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    placeSearch(field.current);
    return () => placeSearch(null);
  }, []);
  const onKeyDown = (event: KeyboardEvent): void => {
    const steps: Record<string, () => void> = {
      Enter: () => step(event.shiftKey ? -1 : 1),
      ArrowDown: () => step(1),
      ArrowUp: () => step(-1),
      Escape: () => {
        if (query.value === "") field.current?.blur();
        search("");
      },
    };
    const action = steps[event.key];
    if (action === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  };
  const isEmpty = query.value.trim() === "";
  return (
    <div class="search" role="search">
      <Icon name="search" />
      <input
        ref={field}
        class="input"
        type="text"
        placeholder="Find module or op"
        aria-label="Find module or op"
        autocomplete="off"
        spellcheck={false}
        value={query.value}
        onInput={(event) => search(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      {isEmpty ? <kbd aria-hidden="true">/</kbd> : <HitCount />}
    </div>
  );
}

function HitCount() {
  const count = hits.value.length;
  const text =
    count === 0
      ? "none"
      : `${current.value < 0 ? "" : `${formatCount(current.value + 1)} of `}${formatCount(count)}`;
  return (
    <span class="hit-count" role="status">
      {text}
    </span>
  );
}
