/** Frames of a video on a canvas: play, pause, speed, any frame. */
import { useEffect, useRef, useState } from "preact/hooks";
import { Problem, Slider, ToolButton } from "../../../plot/Figure";
import { pixels } from "../../../plot/figure-options";
import { useWidth } from "../../../ui/useWidth";
import { fitFactor } from "./ImageSeries";
import { type Reel, useLoaded } from "./reel";

const SPEEDS = [0.25, 0.5, 1, 2, 4];

export function Player({ label, reel }: { label: string; reel: Reel }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [box, room] = useWidth<HTMLDivElement>(280);
  const [frame, setFrame] = useState(0);
  const [isPlaying, setIsPlaying] = useState(false);
  const [speed, setSpeed] = useState(1);
  const last = Math.max(0, reel.numFrames - 1);
  const shown = Math.min(frame, last);
  const factor = fitFactor(reel.width, reel.height, room);
  const { value: bitmap, problem } = useLoaded(() => reel.frame(shown), [reel, shown]);
  useEffect(() => {
    if (bitmap !== null) draw(canvas.current, bitmap);
  }, [bitmap]);
  usePlaying(isPlaying, speed * reel.framesPerSecond, last, setFrame);
  return (
    <div ref={box} class="sec-player">
      {problem === "" ? (
        <div
          class="sec-sized"
          style={{ width: `${reel.width * factor}px`, height: `${reel.height * factor}px` }}
        >
          <canvas
            ref={canvas}
            class={pixels.value === "sharp" && factor >= 1 ? "sec-picture sharp" : "sec-picture"}
            role="img"
            aria-label={`${label}, frame ${shown + 1} of ${last + 1}`}
          />
        </div>
      ) : (
        <Problem problem={problem} />
      )}
      <div class="sec-slider">
        <ToolButton
          glyph={isPlaying ? "pause" : "playLine"}
          name={`${isPlaying ? "Pause" : "Play"} ${label}`}
          isDisabled={last === 0}
          press={() => setIsPlaying(!isPlaying)}
        />
        <Slider
          label={`Frame of ${label}`}
          text={`frame ${shown + 1} of ${last + 1}`}
          at={shown}
          last={last}
          set={(to) => {
            setIsPlaying(false);
            setFrame(to);
          }}
        />
        <span class="sec-out">
          {shown + 1}/{last + 1}
        </span>
        <select
          class="input sm"
          aria-label={`Speed of ${label}`}
          value={String(speed)}
          onChange={(event) => setSpeed(Number(event.currentTarget.value))}
        >
          {SPEEDS.map((one) => (
            <option key={one} value={String(one)}>
              {one}×
            </option>
          ))}
        </select>
      </div>
    </div>
  );
}

/** Move on by the clock, from the last frame to the first. */
function usePlaying(
  isPlaying: boolean,
  perSecond: number,
  last: number,
  move: (next: (frame: number) => number) => void,
): void {
  useEffect(() => {
    if (!isPlaying) return undefined;
    let [request, before, due] = [0, performance.now(), 0];
    const tick = (now: number): void => {
      due += ((now - before) / 1000) * perSecond;
      before = now;
      const by = Math.floor(due);
      due -= by;
      if (by > 0) move((frame) => (Math.min(frame, last) + by) % (last + 1));
      request = requestAnimationFrame(tick);
    };
    request = requestAnimationFrame(tick);
    return () => cancelAnimationFrame(request);
  }, [isPlaying, perSecond, last]);
}

function draw(canvas: HTMLCanvasElement | null, bitmap: ImageBitmap): void {
  if (canvas === null) return;
  if (canvas.width !== bitmap.width || canvas.height !== bitmap.height) {
    canvas.width = bitmap.width;
    canvas.height = bitmap.height;
  }
  const context = canvas.getContext("2d");
  context?.clearRect(0, 0, bitmap.width, bitmap.height);
  context?.drawImage(bitmap, 0, 0);
}
