/** A few choices of which one holds, on one line. */

interface Props<Word extends string> {
  label: string;
  words: readonly (readonly [Word, string])[];
  chosen: Word;
  choose: (word: Word) => void;
}

export function Segments<Word extends string>({ label, words, chosen, choose }: Props<Word>) {
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
    <div class="seg" role="radiogroup" aria-label={label} onKeyDown={onKeyDown}>
      {words.map(([word, title]) => (
        <button
          key={word}
          role="radio"
          aria-checked={word === chosen}
          tabIndex={word === chosen ? 0 : -1}
          onClick={() => choose(word)}
        >
          {title}
        </button>
      ))}
    </div>
  );
}
