/** The colours of the map, read from the theme that is on now. */
import { parseHex, readPalette, type Rgb } from "../tensor/colour";
import type { Inks } from "./painting";

export function readInks(): Inks {
  const style = getComputedStyle(window.document.documentElement);
  const colour = (name: string): Rgb => parseHex(style.getPropertyValue(name));
  return {
    seq: readPalette("seq").ramp,
    div: readPalette("div").ramp,
    danger: colour("--danger"),
    dangerWeak: colour("--danger-weak"),
    surface: colour("--surface"),
    missing: colour("--line-2"),
  };
}
