/** First, ten back, one back, play, one on, ten on, last, follow, and a track over all records of a series. */
import { useEffect, useRef, useState } from "preact/hooks";
import { formatClock, formatCount } from "../data/format";
import { keyStep, type Moment, moved } from "../data/time-steps";
import { Icon, type IconName } from "./Icon";
import { usePageKeys } from "./keys";
import "./time-bar.css";

interface Props {
  moments: readonly Moment[];
  at: number;
  /** How many there are, where not all of them are listed. */
  numAll: number;
  isFollowing: boolean;
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
    else if (to !== "follow") go(to);
    else if (canFollow) onFollow(!isFollowing);
    return true;
  });
  const now = moments[at];
  if (now === undefined) return null;
  return (
    <div class="timebar" role="toolbar" aria-label="Steps">
      <StepButtons at={at} count={count} isPlaying={isPlaying} go={go} play={play} hasTens isSmall />
      <button
        class="btn sm"
        aria-pressed={isFollowing}
        title="Show the newest step as it comes (f)"
        disabled={!canFollow}
        onClick={() => onFollow(!isFollowing)}
      >
        <Icon name="follow" />
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
        <div class="counters given">
          {counters.map(([name, text]) => (
            <span key={name} title={`${name} ${text}`}>
              {name} <b>{text}</b>
            </span>
          ))}
        </div>
      )}
    </div>
  );
}

interface ButtonsProps {
  /** From 0. */
  at: number;
  count: number;
  isPlaying: boolean;
  go: (to: number) => void;
  play: () => void;
  hasTens?: boolean;
  isSmall?: boolean;
}

/** To the ends, one step or ten on or back, and play. */
export function StepButtons({ at, count, isPlaying, go, play, hasTens = false, isSmall = false }: ButtonsProps) {
  const button = (name: IconName, label: string, keys: string, isOff: boolean, press: () => void) => (
    <button
      class={isSmall ? "btn sm square" : "btn square"}
      aria-label={label}
      title={`${label} (${keys})`}
      // Small ones are many: what leads nowhere is passed over. Large ones keep the focus.
      disabled={isSmall && isOff}
      aria-disabled={isSmall ? undefined : isOff}
      onClick={press}
    >
      <Icon name={name} />
    </button>
  );
  const to = (name: IconName, label: string, keys: string, place: number) =>
    button(name, label, keys, count === 0 || place === at, () => go(place));
  return (
    <div class="group" role="group" aria-label="Step">
      {to("first", "First step", "Home", 0)}
      {hasTens && to("tenBack", "Ten steps back", "Shift ←", moved(count, at, -10))}
      {to("left", "One step back", "←", moved(count, at, -1))}
      {button(isPlaying ? "pause" : "go", isPlaying ? "Pause" : "Play", "Space", count < 2, play)}
      {to("right", "One step on", "→", moved(count, at, 1))}
      {hasTens && to("tenOn", "Ten steps on", "Shift →", moved(count, at, 10))}
      {to("last", "Last step", "End", count - 1)}
    </div>
  );
}

/** One more step each so often; the next begins when the last was taken. */
export function usePlaying(isPlaying: boolean, step: () => void, every = PLAY_MS): void {
  const latest = useRef(step);
  latest.current = step;
  useEffect(() => {
    if (!isPlaying) return undefined;
    const timer = setInterval(() => latest.current(), every);
    return () => clearInterval(timer);
  }, [isPlaying]);
}

/** A key of the page, as long as the part that has it is there, and nobody types. */
export function useKey(key: string, action: () => void): void {
  usePageKeys((event) => {
    if (event.key !== key) return false;
    action();
    return true;
  });
}
