/** What is chosen on a page, kept in its address, so that it can be shared. */
import { computed } from "@preact/signals";
import { param, setParams } from "./route";

/** One of several words or numbers; the address names it where it is not the usual one. */
export interface Choice<Value extends string | number = string> {
  /** Each with what is written on it and, where that is not enough, what it means. */
  readonly words: readonly (readonly [value: Value, title: string, hint?: string])[];
  readonly chosen: Value;
  readonly choose: (next: Value) => void;
}

export function inAddress<const Value extends string | number>(
  name: string,
  words: Choice<Value>["words"],
  usual = words[0]![0],
): Choice<Value> {
  const found = computed(() => words.find(([value]) => String(value) === param(name))?.[0] ?? usual);
  return {
    words,
    get chosen() {
      return found.value;
    },
    choose: (next) => setParams({ [name]: next === usual ? null : String(next) }),
  };
}

/** Something that is so or not; the address has one word for what is not usual. */
export function flagInAddress(name: string, other: string, usual: boolean) {
  const found = computed(() => (param(name) === other) !== usual);
  return {
    get isOn() {
      return found.value;
    },
    set: (next: boolean): void => setParams({ [name]: next === usual ? null : other }),
  };
}
