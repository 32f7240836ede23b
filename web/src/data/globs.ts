/**
 * Names and texts by pattern. No pattern is ever compiled as a regular expression: those can take for ever on a
 * text that was made for it. In a glob `*` is any text, `?` any one character, and a backslash takes the next
 * character as it is. The time is that of reading the text, for each piece of the glob once.
 */

export type Test = (text: string) => boolean;

/** Characters that stand side by side, null for any one; between two pieces there may be any text. */
type Piece = readonly (string | null)[];

/** Is a text, from its beginning to its end, what one of the globs says? */
export function globTest(globs: readonly string[]): Test {
  const all = globs.map(piecesOf);
  return (text) => {
    const characters = Array.from(text);
    return all.some((pieces) => fits(pieces, characters));
  };
}

/**
 * What somebody typed to find something: a part of it, with `*` and `?`, large and small letters alike. `^` is its
 * beginning, `$` its end, `|` stands between alternatives, and `.*` is `*`, for those who are used to it.
 */
export function searchTest(query: string): Test {
  const alternatives = alternativesOf(query.toLowerCase().replaceAll(".*", "*")).filter((one) => one !== "");
  if (alternatives.length === 0) return () => true;
  const test = globTest(
    alternatives.map((one) => {
      const isStart = one.startsWith("^");
      const isEnd = one.endsWith("$") && !one.endsWith("\\$");
      return `${isStart ? "" : "*"}${one.slice(isStart ? 1 : 0, isEnd ? -1 : undefined)}${isEnd ? "" : "*"}`;
    }),
  );
  return (text) => test(text.toLowerCase());
}

function alternativesOf(query: string): string[] {
  const found = [""];
  let isTaken = false;
  for (const character of query) {
    if (character === "|" && !isTaken) found.push("");
    else found[found.length - 1]! += character;
    isTaken = character === "\\" && !isTaken;
  }
  return found;
}

function piecesOf(glob: string): Piece[] {
  const pieces: (string | null)[][] = [[]];
  const characters = Array.from(glob);
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at]!;
    if (character === "*") pieces.push([]);
    else if (character === "?") pieces.at(-1)!.push(null);
    else if (character === "\\" && at + 1 < characters.length) pieces.at(-1)!.push(characters[++at]!);
    else pieces.at(-1)!.push(character);
  }
  // Nothing between two stars says nothing.
  return pieces.filter((piece, at) => piece.length > 0 || at === 0 || at === pieces.length - 1);
}

function fits(pieces: readonly Piece[], characters: readonly string[]): boolean {
  const first = pieces[0]!;
  if (pieces.length === 1) return first.length === characters.length && stands(first, characters, 0);
  const last = pieces.at(-1)!;
  const end = characters.length - last.length;
  if (end < first.length || !stands(first, characters, 0) || !stands(last, characters, end)) return false;
  let at = first.length;
  for (const piece of pieces.slice(1, -1)) {
    // The first place where it fits leaves the most to those that follow, so no other has to be tried.
    while (at + piece.length <= end && !stands(piece, characters, at)) at++;
    at += piece.length;
    if (at > end) return false;
  }
  return true;
}

function stands(piece: Piece, characters: readonly string[], at: number): boolean {
  return piece.every((character, index) => character === null || character === characters[at + index]);
}
