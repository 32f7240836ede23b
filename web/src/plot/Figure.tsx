/** A picture with its name above it, what can be done with it, and its state where there is nothing to see. */
import type { ComponentChildren, RefObject } from "preact";
import { formatCount } from "../data/format";
import { rememberedNames } from "../data/remembered";
import { colourSlot } from "../data/runs";
import { Icon, type IconName } from "../ui/Icon";
import { IconButton } from "../ui/IconButton";
import type { RunListing } from "../wire";

const MAX_SPAN = 4;

interface Props {
  title: string;
  /** The whole name, where the title is only its end. */
  hint?: string;
  remark?: ComponentChildren;
  tools?: ComponentChildren;
  place?: RefObject<HTMLElement | null>;
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

/** What stands in a figure before its data does, or in its place: a skeleton, or why there is none. */
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

interface SliderProps {
  label: string;
  /** What its place means. */
  text: string;
  at: number;
  last: number;
  set: (at: number) => void;
  hint?: string | undefined;
}

/** A slider over whole numbers from nought on. */
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

/** The name of a run beside its colour. */
export function RunTag({ run }: { run: RunListing }) {
  return (
    <span class="sec-run" title={run.name}>
      <i class="sec-sw" style={{ background: `var(--cat-${colourSlot(run.id)})` }} />
      <span class="clip">{run.name}</span>
    </span>
  );
}

interface ToolButtonProps {
  glyph: IconName;
  name: string;
  press: () => void;
  isPressed?: boolean;
  isDisabled?: boolean;
}

/** A small button that is an icon, with its name for everybody who cannot see it. */
export function ToolButton({ glyph, name, press, isPressed, isDisabled = false }: ToolButtonProps) {
  return (
    <IconButton
      icon={glyph}
      label={name}
      look="btn quiet sm square"
      title={name}
      aria-pressed={isPressed}
      disabled={isDisabled}
      onClick={press}
    />
  );
}

interface GroupProps {
  name: string;
  count?: number;
  /** Why it is closed until somebody opens it; empty where it is open at first. */
  whyClosed?: string;
  tools?: ComponentChildren;
  children: ComponentChildren;
}

/** Figures under one heading that can be closed. */
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

const closed = rememberedNames("closed-sections");
const opened = rememberedNames("opened-sections");

/** What somebody chose holds; before that, what is given. */
export function isClosed(name: string, isClosedAtFirst = false): boolean {
  return closed.has(name) || (isClosedAtFirst && !opened.has(name));
}

export function fold(name: string, isWanted: boolean): void {
  closed.set(name, isWanted);
  opened.set(name, !isWanted);
}
