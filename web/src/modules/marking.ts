/** Cut a text where words of a query begin and end. */

export interface Part {
  readonly text: string;
  readonly isMarked: boolean;
}

export function markWords(text: string, query: string): Part[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const lower = text.toLowerCase();
  // Some letters change their length in lower case: then nothing could be cut at the right place.
  if (lower.length !== text.length) return [{ text, isMarked: false }];
  const marks = new Uint8Array(text.length);
  for (const word of words) {
    for (let at = lower.indexOf(word); at >= 0; at = lower.indexOf(word, at + 1))
      marks.fill(1, at, at + word.length);
  }
  const parts: Part[] = [];
  let start = 0;
  for (let at = 1; at <= text.length; at++) {
    if (at < text.length && marks[at] === marks[start]) continue;
    parts.push({ text: text.slice(start, at), isMarked: marks[start] === 1 });
    start = at;
  }
  return parts;
}

const TAIL = 14;

/** Cut off the last letters, which tell addresses apart: they stay when there is no room for all. */
export function splitTail(parts: readonly Part[], length = TAIL): [head: Part[], tail: Part[]] {
  const total = parts.reduce((sum, { text }) => sum + text.length, 0);
  let left = Math.max(0, total - length);
  const [head, tail]: [Part[], Part[]] = [[], []];
  for (const { text, isMarked } of parts) {
    if (left > 0) head.push({ text: text.slice(0, left), isMarked });
    if (text.length > left) tail.push({ text: text.slice(left), isMarked });
    left = Math.max(0, left - text.length);
  }
  return [head, tail];
}
