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

interface FailedProps {
  title: string;
  reason: string;
  retry: () => void;
}

/** What could not be had, why, and once more. */
export function Failed({ title, reason, retry }: FailedProps) {
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

/** How much of something is done, from 0 to 1: a little of it from the start, so that it is seen to have begun. */
export function ShareBar({ label, share }: { label: string; share: number }) {
  return (
    <div class="bar" role="progressbar" aria-label={label} aria-valuenow={Math.round(share * 100)}>
      <i style={{ width: `${Math.max(2, share * 100)}%` }} />
    </div>
  );
}

interface SkeletonsProps {
  /** In pixels, or as CSS has them; `block` and `block low` stand for what is as wide as its place. */
  widths: readonly (number | string)[];
  style?: string;
  /** What is on its way, where that is not said elsewhere. */
  label?: string;
  children?: ComponentChildren;
}

/** Grey lines in the place of those that are on their way. */
export function Skeletons({ widths, style = "skeletons late", label, children }: SkeletonsProps) {
  return (
    <div class={style} aria-busy={label !== undefined} aria-hidden={label === undefined} aria-label={label}>
      {widths.map((width, at) =>
        String(width).startsWith("block") ? (
          <i key={at} class={`skeleton ${width}`} />
        ) : (
          <i key={at} class="skeleton" style={{ width: typeof width === "number" ? `${width}px` : width }} />
        ),
      )}
      {children}
    </div>
  );
}
