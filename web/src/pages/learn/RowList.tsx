/** Rows of which one is chosen, by a press or with the arrow keys; what is done has a tick. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "../../ui/Icon";
import { actOn } from "../../ui/keys";

interface Row {
  readonly title: string;
  readonly words: ComponentChildren;
  /** What the tick says; empty where there is none. */
  readonly done: string;
  readonly isLater?: boolean;
}

interface Props {
  label: string;
  name: string;
  style: string;
  rows: readonly Row[];
  /** From 0. */
  now: number;
  choose: (at: number) => void;
  nameWidth?: string;
}

export function RowList({ label, name, style, rows, now, choose, nameWidth }: Props) {
  const list = useRef<HTMLOListElement>(null);
  useLayoutEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [now, rows.length]);
  const go = (to: number): void => choose(Math.max(0, Math.min(rows.length - 1, to)));
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || rows.length === 0) return;
    actOn(event, { ArrowDown: () => go(now + 1), ArrowUp: () => go(now - 1), Home: () => go(0), End: () => go(rows.length - 1) });
  };
  return (
    <ol
      class={`learn-steps ${style}`}
      ref={list}
      role="listbox"
      aria-label={label}
      tabIndex={rows.length === 0 ? -1 : 0}
      style={nameWidth === undefined ? undefined : { "--name": nameWidth }}
      aria-activedescendant={rows[now] === undefined ? undefined : `${name}-${now}`}
      onKeyDown={onKeyDown}
    >
      {rows.map(({ title, words, done, isLater = false }, at) => (
        <li
          key={at}
          id={`${name}-${at}`}
          role="option"
          aria-selected={at === now}
          class={isLater ? "later" : ""}
          title={title}
          onClick={() => choose(at)}
        >
          <span class="line-no">{at + 1}</span>
          {words}
          {done !== "" && (
            <>
              <Icon name="check" />
              <span class="sr">{done}</span>
            </>
          )}
        </li>
      ))}
    </ol>
  );
}
