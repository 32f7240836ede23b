/** In the top bar: which run is shown, and a list to choose another from. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { setParams } from "../route";
import * as runs from "../runs/store";
import { shownState } from "../runs/states";
import { useRowsInView } from "../runs/useRowsInView";
import { Icon } from "../shell/Icon";
import { useCloseOutside } from "../shell/Popover";
import type { RunListing } from "../wire";
import { mayShow, rank, run } from "./netrun";
import { isKnown, known } from "./netstate";

const ROW_HEIGHT = 28;
/** What was seen of one network says nothing about another. */
const NO_PLACE = { rank: null, step: null, layer: null, unit: null, only: null, hide: null };

export function RunPicker() {
  const [isOpen, setIsOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  useCloseOutside(box, isOpen, () => setIsOpen(false));
  const now = run.value;
  const all = runs.runs.value;
  if (all.length === 0) return null;
  const close = (): void => {
    setIsOpen(false);
    box.current?.querySelector("button")?.focus();
  };
  return (
    <>
      <RankSelect />
      <div class="picker" ref={box}>
        <button
          class="btn quiet subject"
          aria-haspopup="listbox"
          aria-expanded={isOpen}
          onClick={() => setIsOpen(!isOpen)}
        >
          <span class="clip">{now?.name ?? "Choose a run"}</span>
          {now !== null && now.comment !== "" && <span class="muted clip">{now.comment}</span>}
          <Icon name="down" />
        </button>
        {isOpen && (
          <RunOptions
            all={all}
            close={close}
            choose={({ id }) => {
              close();
              if (id !== now?.id) setParams({ ...NO_PLACE, run: id });
            }}
          />
        )}
      </div>
    </>
  );
}

/** Where several processes wrote the run. */
function RankSelect() {
  const ranks = isKnown.value ? (known.value?.ranks ?? []) : [];
  const now = rank.value;
  if (ranks.length <= 1 && (ranks.length === 0 || ranks.includes(now))) return null;
  const all = ranks.includes(now) ? ranks : [...ranks, now];
  return (
    <select
      class="input net-rank"
      aria-label="Rank"
      title="The process that wrote what is shown"
      value={String(now)}
      onChange={(event) => setParams({ rank: event.currentTarget.value === "0" ? null : event.currentTarget.value })}
    >
      {all.map((one) => (
        <option key={one} value={String(one)}>
          rank {one}
        </option>
      ))}
    </select>
  );
}

interface OptionsProps {
  all: readonly RunListing[];
  choose: (run: RunListing) => void;
  close: () => void;
}

function RunOptions({ all, choose, close }: OptionsProps) {
  const [active, setActive] = useState(Math.max(0, all.findIndex(({ id }) => id === run.value?.id)));
  const list = useRef<HTMLUListElement>(null);
  const { first, end, reveal } = useRowsInView(list, all.length, ROW_HEIGHT);
  // At once: the next key is for the list.
  useLayoutEffect(() => list.current?.focus(), []);
  useEffect(() => reveal(active), [active]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const to = { ArrowDown: active + 1, ArrowUp: active - 1, Home: 0, End: all.length - 1 }[event.key];
    const chosen = all[active];
    if (to !== undefined) setActive(Math.max(0, Math.min(all.length - 1, to)));
    else if (event.key === "Escape") close();
    else if ((event.key === "Enter" || event.key === " ") && chosen !== undefined) choose(chosen);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <ul
      class="listbox"
      role="listbox"
      aria-label="Runs"
      tabIndex={-1}
      ref={list}
      aria-activedescendant={`net-run-${active}`}
      onKeyDown={onKeyDown}
    >
      {first > 0 && <li aria-hidden="true" style={{ height: `${first * ROW_HEIGHT}px` }} />}
      {all.slice(first, end).map((one, offset) => (
        <li
          key={one.id}
          id={`net-run-${first + offset}`}
          role="option"
          aria-selected={one.id === run.value?.id}
          class={first + offset === active ? "active" : ""}
          onClick={() => choose(one)}
        >
          <span class={mayShow(one.id) ? "clip" : "clip muted"}>{one.name}</span>
          <span class="muted">{mayShow(one.id) ? shownState(one).word : "no layers"}</span>
        </li>
      ))}
      {end < all.length && <li aria-hidden="true" style={{ height: `${(all.length - end) * ROW_HEIGHT}px` }} />}
    </ul>
  );
}
