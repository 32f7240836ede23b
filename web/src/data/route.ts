/** Where the page is: which view, and what of it, in the address after the #, so that it can be shared. */
import { signal } from "@preact/signals";

/** Each view as the address names it, and its title. */
export const TITLES = {
  runs: "Runs",
  graph: "Graph",
  netview: "NetView",
  control: "Control",
  training: "Training",
  layers: "Layers",
  tensors: "Tensors",
  projector: "Projector",
  parameters: "Parameters",
  features: "Features",
  learn: "Learn",
} as const;
export type View = keyof typeof TITLES;

export type Params = ReadonlyMap<string, string>;

export interface Route {
  /** Null until something was chosen: then the page begins where there is something to see. */
  readonly view: View | null;
  readonly params: Params;
}

/** New values of parameters; null takes one away. */
export type Changes = Readonly<Record<string, string | null>>;

/** What stays when the view changes. */
const KEPT = ["runs", "rf"];

/** Browsers turn a page down that writes its address many times a second, as a slider would. */
const MIN_WRITE_GAP_MS = 200;

export const route = signal<Route>({ view: null, params: new Map() });

/** How each view was left, to come back to. */
const left = new Map<View, Params>();

/** The value of one parameter of the address; an empty text where it is not there. */
export function param(name: string): string {
  return route.value.params.get(name) ?? "";
}

/** A whole number; null where the address has none. */
export function wholeParam(name: string): number | null {
  const text = param(name);
  return /^-?\d{1,15}$/.test(text) ? Number(text) : null;
}

/** An address that nobody wrote, or that is old or cut off, gives the view that there is, or none. */
export function readRoute(hash: string): Route {
  const text = hash.replace(/^#/, "");
  const mark = text.indexOf("?");
  const name = mark < 0 ? text : text.slice(0, mark);
  const view = (Object.keys(TITLES) as View[]).find((one) => one === name) ?? null;
  return { view, params: new Map(new URLSearchParams(mark < 0 ? "" : text.slice(mark + 1))) };
}

export function writeRoute({ view, params }: Route): string {
  // Easier to read with commas, slashes and colons, which mean nothing in this part of an address.
  const query = new URLSearchParams([...params]).toString().replace(/%2C|%2F|%3A/g, decodeURIComponent);
  return `#${view ?? ""}${query === "" ? "" : `?${query}`}`;
}

/**
 * The address of a view: as it was left where nothing of its own is given, and else a fresh view with just that.
 * Within the view that is shown, the address with the changes.
 */
export function addressOf(view: View, changes: Changes = {}): string {
  return writeRoute(routeTo(route.value, view, changes));
}

/** Go to a view, to the same place as its address leads. The way back leads here. */
export function go(view: View, changes: Changes = {}): void {
  goTo(routeTo(route.peek(), view, changes));
}

function goTo(next: Route): void {
  writing.finish();
  writeAddress(writeRoute(next), true);
  show(next);
}

/** Change parameters of the view that is shown. There is no way back from it. */
export function setParams(changes: Changes): void {
  const { view, params } = route.peek();
  // Where there is more than a graph to see, the address names a view from the start.
  replaceRoute({ view: view ?? "graph", params: changed(params, changes) });
}

/** Say in the address which view is shown, where it did not. */
export function nameView(view: View): void {
  if (route.peek().view === null) replaceRoute({ view, params: route.peek().params });
}

function replaceRoute(next: Route): void {
  if (writeRoute(next) === writeRoute(route.peek())) return;
  show(next);
  writing.begin();
}

/** Take the route from the address, now and whenever it changes. */
export function startRoute(): void {
  const read = (): void => {
    const next = readRoute(location.hash);
    // Both events come for one change.
    if (writeRoute(next) === writeRoute(route.peek())) return;
    writing.drop();
    show(next);
  };
  addEventListener("hashchange", read);
  addEventListener("popstate", read);
  addEventListener("pagehide", () => writing.finish());
  addEventListener("click", followLink);
  read();
}

/** Links of the page are followed here: in a frame of a notebook they would lead out of it. */
function followLink(event: MouseEvent): void {
  const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
  const link = event.target instanceof Element ? event.target.closest("a[href^='#']") : null;
  const hash = link?.getAttribute("href") ?? "";
  if (event.defaultPrevented || !isPlain || hash === "") return;
  event.preventDefault();
  const next = readRoute(hash);
  if (writeRoute(next) !== writeRoute(route.peek())) goTo(next);
}

function show(next: Route): void {
  const before = route.peek();
  if (before.view !== null) left.set(before.view, before.params);
  route.value = next;
}

function routeTo({ view: from, params }: Route, view: View, changes: Changes): Route {
  if (view === from) return { view, params: changed(params, changes) };
  const isFresh = Object.keys(changes).some((name) => !KEPT.includes(name));
  const next = new Map(isFresh ? [] : left.get(view));
  for (const name of KEPT) {
    const value = params.get(name);
    if (value === undefined) next.delete(name);
    else next.set(name, value);
  }
  return { view, params: changed(next, changes) };
}

function changed(params: Params, changes: Changes): Params {
  const next = new Map(params);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) next.delete(name);
    else next.set(name, value);
  }
  return next;
}

/** The address is written at once or, where that was done just now, a little later. */
const writing = {
  timer: null as ReturnType<typeof setTimeout> | null,
  last: -MIN_WRITE_GAP_MS,

  begin(): void {
    if (this.timer !== null) return;
    // Not by the clock of the day: where it is set back, nothing would be written until it has caught up.
    const wait = this.last + MIN_WRITE_GAP_MS - performance.now();
    if (wait <= 0) this.write();
    else this.timer = setTimeout(() => this.write(), wait);
  },
  finish(): void {
    if (this.timer !== null) this.write();
  },
  drop(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  },
  write(): void {
    this.drop();
    this.last = performance.now();
    writeAddress(writeRoute(route.peek()), false);
  },
};

function writeAddress(address: string, isNew: boolean): void {
  try {
    if (isNew) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  } catch {
    // A frame that belongs to no place has no address to write.
  }
}
