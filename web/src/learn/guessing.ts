/** Is a guess right, and if not, what is wrong with it? */

export interface Judgement {
  readonly isRight: boolean;
  readonly message: string;
}

/** As a number that somebody typed, or a product of some; null where it is none. */
export function guessed(text: string): number | null {
  const factors = text.split(/[*\u00d7\u00b7]/).map(numberOf);
  return factors.reduce<number | null>((so, one) => (so === null || one === null ? null : so * one), 1);
}

function numberOf(text: string): number | null {
  const plain = text.trim().replaceAll("\u2212", "-").replace(/^(-?\d+),(\d+)$/, "$1.$2");
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(plain) ? Number(plain) : null;
}

/** Near enough: within a hundredth, or rounded as it was typed. */
export function judged(text: string, value: number): Judgement {
  const guess = guessed(text);
  if (guess === null) return { isRight: false, message: "That is not a number." };
  const off = Math.abs(guess - value);
  if (off <= 0.01 * Math.abs(value) || off <= roundingOf(text)) return { isRight: true, message: "Right." };
  if (value === 0) return { isRight: false, message: "No: nothing arrives here." };
  if (guess !== 0 && Math.sign(guess) !== Math.sign(value)) return { isRight: false, message: "No: it has the other sign." };
  return { isRight: false, message: Math.abs(guess) > Math.abs(value) ? "No: it is smaller." : "No: it is larger." };
}

/** Half of the last digit, where there are at least two decimals: 1.56 stands for 1.5565. */
function roundingOf(text: string): number {
  const decimals = /[.,](\d+)$/.exec(text.trim())?.[1]?.length ?? 0;
  return decimals < 2 ? 1e-9 : 0.5 * 10 ** -decimals + 1e-9;
}
