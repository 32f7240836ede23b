/** Times of runs as people say them: how long, how long ago. */
import { signal } from "@preact/signals";
import { formatClock, formatCount } from "../data/format";

const THIN = "\u202f";
const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** 4380 → `1 h 13 min`. */
export function formatDuration(seconds: number): string {
  if (!Number.isFinite(seconds) || seconds < 0) return "\u2013";
  if (seconds < 9.95) return `${seconds.toFixed(1)}${THIN}s`;
  if (seconds < 99.5) return `${Math.round(seconds)}${THIN}s`;
  const minutes = Math.round(seconds / MINUTE);
  if (minutes < 60) return `${minutes}${THIN}min`;
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)}${THIN}h ${String(minutes % 60).padStart(2, "0")}${THIN}min`;
  const hours = Math.round(seconds / HOUR);
  return `${formatCount(Math.floor(hours / 24))}${THIN}d ${hours % 24}${THIN}h`;
}

/** A time, in seconds since 1970, as seen from another: `now`, `5 min ago`, `yesterday`, `12 Oct`. */
export function formatAgo(when: number, now: number): string {
  const seconds = now - when;
  if (seconds < 10) return "now";
  if (seconds < MINUTE) return `${Math.floor(seconds)}${THIN}s ago`;
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)}${THIN}min ago`;
  const days = daysBetween(when, now);
  if (days === 0 || seconds < 6 * HOUR) return `${Math.floor(seconds / HOUR)}${THIN}h ago`;
  if (days === 1) return "yesterday";
  if (days < 14) return `${days} days ago`;
  const [date, today] = [new Date(1000 * when), new Date(1000 * now)];
  if (Number.isNaN(date.getTime())) return "\u2013";
  return date.getFullYear() === today.getFullYear() ? formatDay(date) : `${formatDay(date)} ${date.getFullYear()}`;
}

/** The whole of it: `12 Oct 2026, 14:02:31`. */
export function formatMoment(when: number): string {
  const date = new Date(1000 * when);
  if (Number.isNaN(date.getTime())) return "\u2013";
  return `${formatDay(date)} ${date.getFullYear()}, ${formatClock(1000 * when)}`;
}

export function formatHour(when: number): string {
  return formatClock(1000 * when).slice(0, 5);
}

function formatDay(date: Date): string {
  return `${date.getDate()} ${MONTHS[date.getMonth()]!}`;
}

/** How many midnights lie between two times, where the reader is. */
function daysBetween(when: number, now: number): number {
  const start = (time: number): number => new Date(1000 * time).setHours(0, 0, 0, 0);
  return Math.round((start(now) - start(when)) / (1000 * DAY));
}

// --- The time, for what says how long ago something was. It only goes while somebody looks.

const STEP_MS = 10_000;

let timer: ReturnType<typeof setInterval> | undefined;

function tick(): void {
  now.value = Date.now() / 1000;
}

/** Seconds since 1970, as of a few seconds ago. */
export const now = signal(Date.now() / 1000, {
  watched: () => {
    queueMicrotask(tick);
    timer = setInterval(tick, STEP_MS);
  },
  unwatched: () => clearInterval(timer),
});
