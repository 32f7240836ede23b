/** First, ten back, one back, play, one on, ten on, last, follow, and a track over all records of a series. */
import { useEffect, useRef, useState } from "preact/hooks";
import { formatClock, formatCount } from "../data/format";
import { keyStep, type Moment, moved } from "../data/time-steps";
import { usePageKeys } from "./keys";
import "./time-bar.css";

interface Props {
  moments: readonly Moment[];
  at: number;
  /** How many there are, where not all of them are listed. */
  numAll: number;
  isFollowing: boolean;
  /** Is there anything to follow? */
  canFollow?: boolean;
  /** Names and texts in the place of step, record and time. */
  counters?: readonly (readonly [name: string, text: string])[];
  /** A step by hand: it switches following off. */
  onGo: (at: number) => void;
  onFollow: (isFollowing: boolean) => void;
}

const PLAY_MS = 250;

export function TimeBar({ moments, at, numAll, isFollowing, canFollow = true, counters, onGo, onFollow }: Props) {
  const [isPlaying, setIsPlaying] = useState(false);
  const count = moments.length;
  const go = (to: number): void => {
    setIsPlaying(false);
    onGo(to);
  };
  const play = (): void => {
    if (!isPlaying && at >= count - 1) onGo(0);
    setIsPlaying(!isPlaying);
  };
  usePlaying(isPlaying, () => (at < count - 1 ? onGo(at + 1) : setIsPlaying(false)));
  usePageKeys((event) => {
    // A button that has the focus is pressed by the space bar; a picture is not.
    const pressed = event.target instanceof HTMLElement ? event.target.closest("button, a, [role]:not([role=img])") : null;
    if (event.key === " " && pressed !== null) return false;
    const to = keyStep(event, at, count);
    if (to === null) return false;
    if (to === "play") play();
    else if (to === "follow") {
      if (canFollow) onFollow(!isFollowing);
    }
    else go(to);
    return true;
  });
  const now = moments[at];
  if (now === undefined) return null;
  const button = (name: TimeIconName, label: string, keys: string, to: number) => (
    <button
      class="btn sm square"
      aria-label={label}
      title={`${label} (${keys})`}
      disabled={to === at}
      onClick={() => go(to)}
    >
      <TimeIcon name={name} />
    </button>
  );
  return (
    <div class="timebar" role="toolbar" aria-label="Steps">
      <div class="group">
        {button("first", "First step", "Home", 0)}
        {button("tenBack", "Ten steps back", "Shift ←", moved(count, at, -10))}
        {button("back", "One step back", "←", moved(count, at, -1))}
        <button
          class="btn sm square"
          aria-label={isPlaying ? "Pause" : "Play"}
          title={isPlaying ? "Pause (Space)" : "Play (Space)"}
          disabled={count < 2}
          onClick={play}
        >
          <TimeIcon name={isPlaying ? "pause" : "play"} />
        </button>
        {button("on", "One step on", "→", moved(count, at, 1))}
        {button("tenOn", "Ten steps on", "Shift →", moved(count, at, 10))}
        {button("last", "Last step", "End", count - 1)}
      </div>
      <button
        class="btn sm"
        aria-pressed={isFollowing}
        title="Show the newest step as it comes (f)"
        disabled={!canFollow}
        onClick={() => onFollow(!isFollowing)}
      >
        <TimeIcon name="follow" />
        Follow
      </button>
      <input
        class="grow"
        type="range"
        aria-label="Step"
        aria-valuetext={`step ${now.step}`}
        min={0}
        max={Math.max(0, count - 1)}
        value={at}
        disabled={count < 2}
        onInput={(event) => go(Number(event.currentTarget.value))}
        onKeyDown={(event) => {
          // The browser's own steps are those of one; with Shift they are ten, as on the rest of the page.
          const to = event.shiftKey ? keyStep(event, at, count) : null;
          if (typeof to !== "number") return;
          event.preventDefault();
          event.stopPropagation();
          go(to);
        }}
      />
      {counters === undefined ? (
        <div class="counters">
          <span>
            Step <b>{formatCount(now.step)}</b>
          </span>
          <span>
            Record <b>{formatCount(at + 1)}</b> of {formatCount(count)}
            {numAll > count && ` (${formatCount(numAll)} in all)`}
          </span>
          <span class="clock">
            Time <b>{formatClock(now.time * 1000)}</b>
          </span>
        </div>
      ) : (
        <Counters counters={counters} />
      )}
    </div>
  );
}

function Counters({ counters }: { counters: NonNullable<Props["counters"]> }) {
  return (
    <div class="counters given">
      {counters.map(([name, text]) => (
        <span key={name} title={`${name} ${text}`}>
          {name} <b>{text}</b>
        </span>
      ))}
    </div>
  );
}

/** One more step each quarter of a second; the next begins when the last was taken. */
function usePlaying(isPlaying: boolean, step: () => void): void {
  const latest = useRef(step);
  latest.current = step;
  useEffect(() => {
    if (!isPlaying) return undefined;
    const timer = setInterval(() => latest.current(), PLAY_MS);
    return () => clearInterval(timer);
  }, [isPlaying]);
}

// --- The signs on the buttons of the time bar.

const PATHS = {
  first: "M4 4v8M12 4 8 8l4 4",
  tenBack: "M8 4 4 8l4 4M12 4 8 8l4 4",
  back: "m10 4-4 4 4 4",
  on: "m6 4 4 4-4 4",
  tenOn: "m4 4 4 4-4 4M8 4l4 4-4 4",
  last: "M12 4v8M4 4l4 4-4 4",
  follow: "M13 4v8M3 8h7M7 5l3 3-3 3",
} as const;

export type TimeIconName = keyof typeof PATHS | "play" | "pause";

export function TimeIcon({ name }: { name: TimeIconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      {name === "play" ? (
        <path class="solid" d="M5 3.5v9l7-4.5z" />
      ) : name === "pause" ? (
        <path d="M5.5 4v8M10.5 4v8" />
      ) : (
        <path d={PATHS[name]} />
      )}
    </svg>
  );
}

// --- A key of the page, as long as the part that has it is there, and nobody types.

export function useKey(key: string, action: () => void): void {
  usePageKeys((event) => {
    if (event.key !== key) return false;
    action();
    return true;
  });
}
