/** What somebody chose to see of the sections, as it stands in the address. */
import { param, setParams } from "../data/route";

/** An option that is one of a few words; the first is what holds where the address says nothing. */
export interface Choice<Word extends string> {
  readonly value: Word;
  readonly set: (word: Word) => void;
}

export function choice<Word extends string>(name: string, words: readonly [Word, ...Word[]]): Choice<Word> {
  return {
    get value(): Word {
      return words.find((word) => word === param(name)) ?? words[0];
    },
    set: (word) => setParams({ [name]: word === words[0] ? null : word }),
  };
}

/** A text; empty where the address says nothing. */
export function textParam(name: string): Choice<string> {
  return {
    get value(): string {
      return param(name);
    },
    set: (text) => setParams({ [name]: text === "" ? null : text }),
  };
}

/** Names in their order. */
export function listParam(name: string) {
  return {
    get value(): readonly string[] {
      return partsOf(param(name)).map(unescaped);
    },
    set: (names: readonly string[]): void => setParams({ [name]: names.length === 0 ? null : names.map(escaped).join(",") }),
  };
}

/** Names of which each is on (`+`) or off (`-`); those that nobody decided on are not there. */
export function flagsParam(name: string) {
  const list = listParam(name);
  return {
    get value(): ReadonlyMap<string, boolean> {
      return new Map(list.value.map((text) => [text.slice(1), text.startsWith("+")]));
    },
    set(key: string, isOn: boolean | null): void {
      const next = new Map(this.value);
      next.delete(key);
      if (isOn !== null) next.set(key, isOn);
      list.set([...next].map(([one, isPlus]) => `${isPlus ? "+" : "-"}${one}`));
    },
  };
}

/** How counts become colours and heights. */
export const countScale = choice("counts", ["linear", "log"]);
/** Are there distributions of tensors, too? */
export const tensorsToo = choice("tensors", ["no", "yes"]);
/** Numbers in the cells of a confusion matrix. */
export const cellNumbers = choice("cells", ["counts", "share"]);
/** Single pixels, or smooth between them. */
export const pixels = choice("pixels", ["sharp", "smooth"]);
export const textForm = choice("text", ["markdown", "plain"]);
export const textLayout = choice("texts", ["one", "list"]);

/** The run whose distributions are shown, where several have them; empty for the first. */
export const distributionRun = textParam("of");

const FIRST_THRESHOLD = 0.5;

/** From 0 to 1, the same for all curves. */
export const threshold = {
  get value(): number {
    const text = param("threshold");
    const value = Number(text);
    return text !== "" && value >= 0 && value <= 1 ? value : FIRST_THRESHOLD;
  },
  set(value: number): void {
    setParams({ threshold: value === FIRST_THRESHOLD ? null : String(Number(value.toFixed(4))) });
  },
};

// --- Names in lists of the address: only what would be misread there is escaped.

export function partsOf(text: string): string[] {
  return text === "" ? [] : text.split(",");
}

export function escaped(name: string): string {
  return name.replace(/[%,:~]/g, (one) => `%${one.charCodeAt(0).toString(16)}`);
}

export function unescaped(text: string): string {
  return text.replace(/%(25|2c|3a|7e)/gi, (_, code: string) => String.fromCharCode(parseInt(code, 16)));
}
