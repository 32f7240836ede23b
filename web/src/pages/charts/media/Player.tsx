/** What is played: frames of a video with their speed, a sound with its waveform. Both have one bar under them. */
import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatSeconds } from "../../../data/format";
import { attempt } from "../../../data/message-of";
import type { FullRecord } from "../../../data/requests";
import { Drawing, type Ink } from "../../../plot/Drawing";
import { Problem, Slider, ToolButton } from "../../../plot/Figure";
import { pixels } from "../../../plot/figure-options";
import { Select } from "../../../ui/Select";
import { useWidth } from "../../../ui/useWidth";
import { type Reel, useLoaded } from "./reel";
import { lengthOf, peaksOf, play, playing, readWav, type Sound, stop } from "./wav";

interface BarProps {
  label: string;
  isPlaying: boolean;
  isOff: boolean;
  toggle: () => void;
  /** Where it is, in words. */
  out: ComponentChildren;
  /** The slider. */
  children: ComponentChildren;
  after?: ComponentChildren;
}

function PlayBar({ label, isPlaying, isOff, toggle, out, children, after }: BarProps) {
  return (
    <div class="sec-slider">
      <ToolButton
        glyph={isPlaying ? "pause" : "playLine"}
        name={`${isPlaying ? "Pause" : "Play"} ${label}`}
        isDisabled={isOff}
        press={toggle}
      />
      {children}
      <span class="sec-out">{out}</span>
      {after}
    </div>
  );
}

// --- A picture on a canvas, pixel by pixel, with what was marked in it on top.

interface BitmapProps {
  /** Null before it is there. */
  bitmap: ImageBitmap | null;
  label: string;
  width: number;
  height: number;
  factor: number;
  children?: ComponentChildren;
}

export function Bitmap({ bitmap, label, width, height, factor, children }: BitmapProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    if (canvas.current === null || bitmap === null) return;
    // Setting the size clears it, too.
    canvas.current.width = bitmap.width;
    canvas.current.height = bitmap.height;
    canvas.current.getContext("2d")?.drawImage(bitmap, 0, 0);
  }, [bitmap]);
  return (
    <div class="sec-sized" style={{ width: `${width * factor}px`, height: `${height * factor}px` }}>
      <canvas
        ref={canvas}
        class={pixels.chosen === "sharp" && factor >= 1 ? "sec-picture sharp" : "sec-picture"}
        role="img"
        aria-label={label}
      />
      {children}
    </div>
  );
}

const TALLEST = 200; // of a picture that fits
const MAX_FIT = 16; // a picture of a few pixels need not fill its place

export function fitFactor(width: number, height: number, room: number): number {
  if (width <= 0 || height <= 0) return 1;
  return Math.min(room / width, TALLEST / height, MAX_FIT);
}

// --- Frames of a video on a canvas: play, pause, speed, any frame.

const SPEEDS = [0.25, 0.5, 1, 2, 4];

interface PlayerProps {
  label: string;
  reel: Reel;
}

export function Player({ label, reel }: PlayerProps) {
  const [box, room] = useWidth<HTMLDivElement>(280);
  const [frame, setFrame] = useState(0);
  const [isPlaying, setIsPlaying] = useState(false);
  const [speed, setSpeed] = useState(1);
  const last = Math.max(0, reel.numFrames - 1);
  const shown = Math.min(frame, last);
  const { width, height } = reel;
  const factor = fitFactor(width, height, room);
  const { value: bitmap, problem } = useLoaded(() => reel.frame(shown), [reel, shown]);
  usePlaying(isPlaying, speed * reel.framesPerSecond, last, setFrame);
  return (
    <div ref={box} class="sec-player">
      {problem === "" ? (
        <Bitmap {...{ bitmap, width, height, factor }} label={`${label}, frame ${shown + 1} of ${last + 1}`} />
      ) : (
        <Problem problem={problem} />
      )}
      <PlayBar
        label={label}
        isPlaying={isPlaying}
        isOff={last === 0}
        toggle={() => setIsPlaying(!isPlaying)}
        out={`${shown + 1}/${last + 1}`}
        after={
          <Select
            look="input sm"
            label={`Speed of ${label}`}
            value={String(speed)}
            options={SPEEDS.map((one) => [String(one), `${one}×`])}
            set={(text) => setSpeed(Number(text))}
          />
        }
      >
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
      </PlayBar>
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

// --- A sound: its waveform, play and pause, and where it is.

const HEIGHT = 72;
const NUM_PLACES = 1000; // of the slider

interface ListenerProps {
  label: string;
  record: FullRecord;
  colour: number;
}

export function Listener({ label, record, colour }: ListenerProps) {
  const { value: sound, problem } = useMemo(() => attempt(() => readWav(record.bytes)), [record]);
  if (sound === null) return <Problem title="This could not be played" problem={problem} />;
  return <Wave label={label} sound={sound} colour={colour} />;
}

function Wave({ label, sound, colour }: { label: string; sound: Sound; colour: number }) {
  const [position, setPosition] = useState(0);
  const length = lengthOf(sound);
  const now = playing.value;
  const isPlaying = now?.sound === sound;
  useEffect(() => {
    if (now?.sound !== sound) return undefined;
    let request = requestAnimationFrame(function tick(): void {
      setPosition(now.position());
      request = requestAnimationFrame(tick);
    });
    return () => cancelAnimationFrame(request);
  }, [now]);
  // What is no longer on the page is no longer heard.
  useEffect(
    () => () => {
      if (playing.peek()?.sound === sound) stop();
    },
    [sound],
  );
  const seek = (to: number): void => {
    setPosition(to);
    if (isPlaying) play(sound, to);
  };
  const paint = useCallback(
    (context: CanvasRenderingContext2D, width: number, height: number, ink: Ink) =>
      paintWave(context, sound, width, height, ink.runs[colour]!, ink),
    [sound, colour],
  );
  const place = length > 0 ? Math.min(1, position / length) : 0;
  return (
    <div class="sec-player">
      <Drawing
        label={`Waveform of ${label}, ${formatSeconds(length)}`}
        height={HEIGHT}
        paint={paint}
        onPress={({ x, width }) => seek((x / width) * length)}
      >
        <i class="sec-cursor" style={{ left: `${place * 100}%`, top: "0", bottom: "0" }} />
      </Drawing>
      <PlayBar
        label={label}
        isPlaying={isPlaying}
        isOff={length === 0}
        toggle={() => (isPlaying ? stop() : play(sound, position >= length - 0.01 ? 0 : position))}
        out={formatSeconds(position)}
      >
        <Slider
          label={`Position in ${label}`}
          text={`${formatSeconds(position)} of ${formatSeconds(length)}`}
          at={Math.round(place * NUM_PLACES)}
          last={NUM_PLACES}
          set={(to) => seek((to / NUM_PLACES) * length)}
        />
      </PlayBar>
    </div>
  );
}

function paintWave(
  context: CanvasRenderingContext2D,
  sound: Sound,
  width: number,
  height: number,
  colour: string,
  ink: Ink,
): void {
  const columns = Math.max(1, Math.floor(width));
  const { low, high } = peaksOf(sound, columns);
  const middle = height / 2;
  const scale = middle - 2;
  context.strokeStyle = ink.line;
  context.beginPath();
  context.moveTo(0, middle + 0.5);
  context.lineTo(width, middle + 0.5);
  context.stroke();
  context.fillStyle = colour;
  for (let x = 0; x < columns; x++) {
    const [top, bottom] = [middle - clamp(high[x]!) * scale, middle - clamp(low[x]!) * scale];
    context.fillRect(x, top, 1, Math.max(1, bottom - top));
  }
}

function clamp(sample: number): number {
  return Math.min(1, Math.max(-1, sample));
}
