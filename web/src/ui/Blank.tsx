/** What stands where there is nothing to show: what is missing, and what to do about it. */
import type { ComponentChildren } from "preact";
import { Icon, type IconName } from "./Icon";

interface Props {
  icon: IconName;
  title: string;
  isError?: boolean;
  children?: ComponentChildren;
}

export function Blank({ icon, title, isError = false, children }: Props) {
  return (
    <div class={isError ? "blank error" : "blank"} role={isError ? "alert" : undefined}>
      <Icon name={icon} />
      <b>{title}</b>
      {children}
    </div>
  );
}

export function Failed({ title, reason, retry }: { title: string; reason: string; retry: () => void }) {
  return (
    <Blank icon="warning" title={title} isError>
      <span>{reason}</span>
      <button class="btn" onClick={retry}>
        Try again
      </button>
    </Blank>
  );
}

interface BusyProps {
  title: string;
  /** Of the bar; what it says as long as nothing else is given. */
  label?: string;
  style?: string;
  children?: ComponentChildren;
}

/** What stands there while something is made that takes its time. */
export function Busy({ title, label = title, style = "late", children }: BusyProps) {
  return (
    <div class={`blank ${style}`} aria-busy="true">
      <b>{title}</b>
      <MovingBar label={label} />
      {children}
    </div>
  );
}

export function MovingBar({ label, style = "" }: { label: string; style?: string }) {
  return (
    <div class={`bar moving ${style}`} role="progressbar" aria-label={label}>
      <i />
    </div>
  );
}

interface ShareProps {
  label: string;
  now: number;
  most: number;
  style?: string;
  title?: string;
}

/** How far something is that takes its time, or is done in parts. */
export function ShareBar({ label, now, most, style = "", title }: ShareProps) {
  return (
    <div class={`bar ${style}`} role="progressbar" aria-label={label} aria-valuemin={0} aria-valuemax={most} aria-valuenow={now} title={title}>
      <i style={{ width: `${(100 * now) / Math.max(1, most)}%` }} />
    </div>
  );
}

/** What is wrong with what was typed; nothing where it is empty. */
export function Hint({ text, children }: { text: string; children?: ComponentChildren }) {
  if (text === "") return null;
  return (
    <p class="hint" role="alert">
      {text}
      {children !== undefined && <> {children}</>}
    </p>
  );
}

interface SkeletonsProps {
  /** In pixels, or as CSS has them; `block` and `block low` stand for what is as wide as its place. */
  widths: readonly (number | string)[];
  style?: string;
  /** What is on its way, where that is not said elsewhere. */
  label?: string;
}

/** Grey lines in the place of those that are on their way. */
export function Skeletons({ widths, style = "skeletons late", label }: SkeletonsProps) {
  return (
    <div class={style} aria-busy={label !== undefined} aria-hidden={label === undefined} aria-label={label}>
      {widths.map((width, at) =>
        String(width).startsWith("block") ? (
          <i key={at} class={`skeleton ${width}`} />
        ) : (
          <i key={at} class="skeleton" style={{ width: typeof width === "number" ? `${width}px` : width }} />
        ),
      )}
    </div>
  );
}

/** The lines of Python that start a run. */
const LINES = 'with torcheer.Run("runs/first") as run:\n    run.log(step, loss=loss)';

/** How a run is started. */
export function Snippet() {
  return <pre class="snippet">{LINES}</pre>;
}

export function NoRuns() {
  return (
    <Blank icon="search" title="No runs yet">
      <span>Start one from Python; it shows up here by itself.</span>
      <Snippet />
    </Blank>
  );
}
