/** A picture with its name above it, what can be done with it, and its state where there is nothing to see. */
import { signal } from "@preact/signals";
import type { ComponentChildren, RefObject } from "preact";
import { formatCount } from "../data/format";
import { recall, remember } from "../data/remembered";
import { colourSlot } from "../data/runs";
import { Icon } from "../ui/Icon";
import type { RunListing } from "../wire";

const MAX_SPAN = 4;

interface Props {
  title: string;
  /** The whole name, where the title is only its end. */
  hint?: string;
  remark?: ComponentChildren;
  tools?: ComponentChildren;
  place?: RefObject<HTMLElement | null>;
  /** How many columns it takes. */
  span?: number;
  onKeyDown?: (event: KeyboardEvent) => void;
  children: ComponentChildren;
}

export function Figure({ title, hint, remark, tools, place, span = 1, onKeyDown, children }: Props) {
  return (
    <figure
      ref={place ?? null}
      class={`sec-figure span-${Math.min(MAX_SPAN, span)}`}
      aria-label={hint ?? title}
      onKeyDown={onKeyDown}
    >
      <figcaption>
        <b class="clip" title={hint ?? title}>
          {title}
        </b>
        <span class="grow" />
        {remark !== undefined && <span class="sec-remark clip">{remark}</span>}
        {tools}
      </figcaption>
      {children}
    </figure>
  );
}

// --- What stands in a figure before its data does, or in its place: a skeleton, or why there is none.

export function Waiting({ problem, height, retry }: { problem: string; height: number; retry: () => void }) {
  if (problem === "")
    return <span class="skeleton sec-skeleton late" style={{ height: `${height}px` }} aria-hidden="true" />;
  return (
    <Problem problem={problem} height={height}>
      <button class="btn sm" onClick={retry}>
        Try again
      </button>
    </Problem>
  );
}

interface ProblemProps {
  title?: string;
  problem: string;
  height?: number;
  children?: ComponentChildren;
}

export function Problem({ title = "This could not be shown", problem, height = 0, children }: ProblemProps) {
  return (
    <div class="sec-problem" role="alert" style={{ minHeight: `${height}px` }}>
      <b>{title}</b>
      <span>{problem}</span>
      {children}
    </div>
  );
}

// --- A slider over whole numbers from nought on.

interface SliderProps {
  label: string;
  /** What its place means. */
  text: string;
  at: number;
  last: number;
  set: (at: number) => void;
  hint?: string | undefined;
}

export function Slider({ label, text, at, last, set, hint }: SliderProps) {
  return (
    <input
      type="range"
      min={0}
      max={Math.max(1, last)}
      value={at}
      disabled={last === 0}
      aria-label={label}
      aria-valuetext={text}
      title={hint}
      onInput={(event) => set(Number(event.currentTarget.value))}
    />
  );
}

// --- The name of a run beside its colour.

export function RunTag({ run }: { run: RunListing }) {
  return (
    <span class="sec-run" title={run.name}>
      <i class="sec-sw" style={{ background: `var(--cat-${colourSlot(run.id)})` }} />
      <span class="clip">{run.name}</span>
    </span>
  );
}

// --- A small button that is an icon, with its name for everybody who cannot see it.

interface ToolButtonProps {
  glyph: GlyphName;
  name: string;
  press: () => void;
  isPressed?: boolean;
  isDisabled?: boolean;
}

export function ToolButton({ glyph, name, press, isPressed, isDisabled = false }: ToolButtonProps) {
  return (
    <button
      class="btn quiet sm square"
      aria-label={name}
      title={name}
      aria-pressed={isPressed}
      disabled={isDisabled}
      onClick={press}
    >
      <Glyph name={glyph} />
    </button>
  );
}

// --- Line icons that only the sections need.

const PATHS = {
  save: ["M8 2.5v7.5", "m5 7 3 3 3-3", "M3 13h10"],
  play: ["M5 3.5v9l7.5-4.5z"],
  pause: ["M5.5 3.5v9M10.5 3.5v9"],
  newest: ["m4 4 4 4-4 4M12 4v8"],
  plus: ["M8 3v10M3 8h10"],
  minus: ["M3 8h10"],
  fit: ["M3 6V3h3M10 3h3v3M13 10v3h-3M6 13H3v-3"],
  table: ["M2.500 3.500h11v9h-11zM2.500 6.500h11M2.500 9.500h11M6.500 3.500v9"],
} as const;

type GlyphName = keyof typeof PATHS;

function Glyph({ name }: { name: GlyphName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      {PATHS[name].map((path) => (
        <path key={path} d={path} />
      ))}
    </svg>
  );
}

// --- Figures under one heading that can be closed.

interface GroupProps {
  name: string;
  /** How many series there are. */
  count?: number;
  /** Why it is closed until somebody opens it; empty where it is open at first. */
  whyClosed?: string;
  /** What can be chosen for all of them. */
  tools?: ComponentChildren;
  children: ComponentChildren;
}

export function Group({ name, count, whyClosed = "", tools, children }: GroupProps) {
  const isShut = isClosed(name, whyClosed !== "");
  return (
    <section class="sec-group" aria-label={name}>
      <div class="sec-head">
        <button class="sec-fold" aria-expanded={!isShut} onClick={() => fold(name, !isShut)}>
          <Icon name={isShut ? "right" : "down"} />
          <h2>{name}</h2>
          {count !== undefined && <span class="muted fs-1">{formatCount(count)}</span>}
          {isShut && whyClosed !== "" && <span class="muted fs-1">{whyClosed}</span>}
        </button>
        <span class="grow" />
        {!isShut && tools}
      </div>
      {!isShut && <div class="sec-figures">{children}</div>}
    </section>
  );
}

// --- Which groups somebody closed or opened, for as long as this browser remembers.

const CLOSED = "closed-sections";
const OPENED = "opened-sections";

const closed = signal(recalled(CLOSED));
const opened = signal(recalled(OPENED));

function recalled(memory: string): ReadonlySet<string> {
  return new Set(
    recall(memory)
      ?.split("\n")
      .filter((name) => name !== "") ?? [],
  );
}

/** What somebody chose holds; before that, what is given. */
export function isClosed(name: string, isClosedAtFirst = false): boolean {
  return closed.value.has(name) || (isClosedAtFirst && !opened.value.has(name));
}

export function fold(name: string, isWanted: boolean): void {
  for (const [memory, names, isIn] of [
    [CLOSED, closed, isWanted],
    [OPENED, opened, !isWanted],
  ] as const) {
    const next = new Set(names.peek());
    if (isIn) next.add(name);
    else next.delete(name);
    names.value = next;
    remember(memory, [...next].join("\n"));
  }
}
