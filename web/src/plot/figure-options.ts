/** What somebody chose to see of the sections, as it stands in the address. */
import { flagInAddress, inAddress } from "../data/address-choice";
import { param, setParams } from "../data/route";

/** A text; empty where the address says nothing. */
export function textParam(name: string) {
  return {
    get value(): string {
      return param(name);
    },
    set: (text: string): void => setParams({ [name]: text === "" ? null : text }),
  };
}

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

export const countScale = inAddress("counts", [["linear", "Linear"], ["log", "Log count"]]);
export const tensorsToo = flagInAddress("tensors", "yes", false);
export const cellNumbers = inAddress("cells", [["counts", "Counts"], ["share", "Per cent"]]);
export const pixels = inAddress("pixels", [["sharp", "Pixels"], ["smooth", "Smooth"]]);
export const textForm = inAddress("text", [["markdown", "Markdown"], ["plain", "Plain"]]);
export const textLayout = inAddress("texts", [["one", "One step"], ["list", "List"]]);

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
