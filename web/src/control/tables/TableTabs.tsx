/** Which table is shown. */
import type { ComponentChildren } from "preact";
import { newTable } from "./showing";
import { tableTitle } from "./tablelist";

interface Props {
  names: readonly string[];
  chosen: string;
  /** Of the rows of the chosen one. */
  count: ComponentChildren;
  choose: (name: string) => void;
}

export function TableTabs({ names, chosen, count, choose }: Props) {
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by === undefined || !(event.currentTarget instanceof HTMLElement)) return;
    event.preventDefault();
    event.stopPropagation();
    const at = (names.indexOf(chosen) + by + names.length) % names.length;
    choose(names[at]!);
    event.currentTarget.querySelectorAll("button")[at]?.focus();
  };
  return (
    <div class="table-tabs" role="tablist" aria-label="Tables" onKeyDown={onKeyDown}>
      {names.map((name) => (
        <button
          key={name}
          role="tab"
          aria-selected={name === chosen}
          tabIndex={name === chosen ? 0 : -1}
          onClick={() => choose(name)}
        >
          {tableTitle(name)}
          {name === chosen && count !== null && <span class="muted fs-1"> {count}</span>}
          {name !== chosen && name === newTable.value && <span class="tab-new"> new</span>}
        </button>
      ))}
    </div>
  );
}
