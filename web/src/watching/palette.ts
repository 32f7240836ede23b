/** The colours of the map, read from the theme that is on now. */
import { parseHex, readPalette, type Rgb } from "../tensor/colour";
import type { Inks } from "./painting";

export function readInks(): Inks {
  const style = getComputedStyle(window.document.documentElement);
  const colour = (name: string): Rgb => parseHex(sixDigits(style.getPropertyValue(name).trim()));
  return {
    seq: readPalette("seq").ramp,
    div: readPalette("div").ramp,
    danger: colour("--danger"),
    dangerWeak: colour("--danger-weak"),
    surface: colour("--surface"),
    missing: colour("--line-2"),
  };
}

/** `#fff`, as a bundle writes what was `#FFFFFF`. */
export function sixDigits(hex: string): string {
  return /^#[0-9a-f]{3}$/i.test(hex) ? hex.replace(/[0-9a-f]/gi, "$&$&") : hex;
}
