/** Parameters of the address that change under somebody's hand: seen at once, written when the hand rests. */
import { effect, signal } from "@preact/signals";
import { param, route, setParams, type View } from "../route";

/** Browsers allow an address few changes in a second. */
const CALM_MS = 250;

type Texts = Readonly<Record<string, string | null>>;

interface Draft {
  readonly view: View | null;
  readonly texts: Texts;
}

const NOTHING: Draft = { view: null, texts: {} };

/** What was changed a moment ago and does not stand in the address yet, and in which view. */
const draft = signal<Draft>(NOTHING);
let timer: ReturnType<typeof setTimeout> | null = null;

/** As it will stand in the address; an empty text where it is not there. */
export function paramSoon(name: string): string {
  const { view, texts } = draft.value;
  const text = view === route.value.view ? texts[name] : undefined;
  return text === undefined ? param(name) : (text ?? "");
}

export function setSoon(changes: Texts): void {
  const { view } = route.peek();
  const before = draft.peek();
  draft.value = { view, texts: before.view === view ? { ...before.texts, ...changes } : changes };
  if (timer !== null) clearTimeout(timer);
  timer = setTimeout(settle, CALM_MS);
}

/** Bring the address up to date. */
export function settle(): void {
  const { view, texts } = draft.peek();
  discard();
  if (view === route.peek().view && Object.keys(texts).length > 0) setParams(texts);
}

function discard(): void {
  if (timer !== null) clearTimeout(timer);
  timer = null;
  draft.value = NOTHING;
}

// Whoever leaves the view, and be it for a moment, finds it as the address says.
effect(() => {
  const { view } = route.value;
  if (draft.peek() !== NOTHING && draft.peek().view !== view) discard();
});
