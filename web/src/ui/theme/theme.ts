/** Light or dark: as the system asks, until somebody chooses. */
import { computed, effect, signal } from "@preact/signals";
import { recall, remember } from "../../data/remembered";
import { themeTick } from "../../data/store";

export type Theme = "light" | "dark";

const chosen = signal<Theme | null>(null);
const systemIsDark = signal(false);

export const theme = computed<Theme>(() => chosen.value ?? (systemIsDark.value ? "dark" : "light"));

/** Take over the theme chosen on an earlier visit and follow the system. */
export function startTheme(): void {
  const known = recall("theme");
  if (known === "light" || known === "dark") chosen.value = known;
  const query = matchMedia("(prefers-color-scheme: dark)");
  systemIsDark.value = query.matches;
  query.addEventListener("change", () => (systemIsDark.value = query.matches));
  effect(() => {
    document.documentElement.dataset.theme = theme.value;
    themeTick.value = themeTick.peek() + 1;
  });
}

export function switchTheme(): void {
  const next = theme.value === "dark" ? "light" : "dark";
  chosen.value = next;
  remember("theme", next);
}
