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
