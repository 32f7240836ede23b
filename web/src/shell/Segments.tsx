/** A few choices of which one holds, on one line. */
import type { ComponentChildren } from "preact";

interface Props<Word extends string> {
  label: string;
  /** Each with what is written on it and, where that is not enough, what it means. */
  words: readonly (readonly [word: Word, title: ComponentChildren, hint?: string])[];
  chosen: Word;
  choose: (word: Word) => void;
  /** As wide as its place. */
  isWide?: boolean;
}

export function Segments<Word extends string>({ label, words, chosen, choose, isWide = false }: Props<Word>) {
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const at = words.findIndex(([word]) => word === chosen);
    const next = words[(at + by + words.length) % words.length];
    if (next === undefined) return;
    choose(next[0]);
    const group = event.currentTarget as HTMLElement;
    group.querySelectorAll("button")[words.indexOf(next)]?.focus();
  };
  return (
    <div class={isWide ? "seg wide" : "seg"} role="radiogroup" aria-label={label} onKeyDown={onKeyDown}>
      {words.map(([word, title, hint]) => (
        <button
          key={word}
          role="radio"
          aria-checked={word === chosen}
          title={hint}
          tabIndex={word === chosen ? 0 : -1}
          onClick={() => choose(word)}
        >
          {title}
        </button>
      ))}
    </div>
  );
}
