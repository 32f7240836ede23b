/** What is played: frames of a video with their speed, a sound with its waveform. Both have one bar under them. */
import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatSeconds } from "../../../data/format";
import { attempt, type Attempt, messageOf } from "../../../data/message-of";
import { ByteCache, type FullRecord } from "../../../data/requests";
import { Refusal } from "../../../data/source";
import { Drawing, type Ink } from "../../../plot/Drawing";
import { Problem, Slider, ToolButton } from "../../../plot/Figure";
import { pixels } from "../../../plot/figure-options";
import { Select } from "../../../ui/Select";
import { useWidth } from "../../../ui/useWidth";
import type { VideoHead } from "../../../wire";
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

interface BitmapProps {
  /** Null before it is there. */
  bitmap: ImageBitmap | null;
  label: string;
  width: number;
  height: number;
  factor: number;
  children?: ComponentChildren;
}

/** A picture on a canvas, pixel by pixel, with what was marked in it on top. */
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

const SPEEDS = [0.25, 0.5, 1, 2, 4];

/** Frames of a video on a canvas: play, pause, speed, any frame. */
export function Player({ label, reel }: { label: string; reel: Reel }) {
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

const HEIGHT = 72;
const NUM_PLACES = 1000; // of the slider

/** A sound: its waveform, play and pause, and where it is. */
export function Listener({ label, record, colour }: { label: string; record: FullRecord; colour: number }) {
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

// --- From the bytes of a picture to something that can be drawn.

export const TYPES: Readonly<Record<string, string>> = {
  png: "image/png",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
};

/** A picture of more pixels would take more memory than a page should. */
const MAX_PIXELS = 64_000_000;

const STARTS: readonly (readonly [kind: string, start: RegExp])[] = [
  ["png", /^\x89PNG\r\n.\n/s],
  ["jpeg", /^\xff\xd8\xff/],
  ["gif", /^GIF8/],
  ["webp", /^RIFF.{4}WEBP/s],
];

/** Which of the kinds that browsers know it is, by its first bytes; empty for none. */
export function sniff(bytes: Uint8Array): string {
  const first = String.fromCharCode(...bytes.subarray(0, 12));
  return STARTS.find(([, start]) => start.test(first))?.[0] ?? "";
}

/** The size that a PNG says it has, before anything is made of it; null for other kinds. */
export function pngSize(bytes: Uint8Array): { width: number; height: number } | null {
  if (sniff(bytes) !== "png" || bytes.byteLength < 24) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { width: view.getUint32(16), height: view.getUint32(20) };
}

export async function decodePicture(bytes: Uint8Array<ArrayBuffer>): Promise<ImageBitmap> {
  const kind = sniff(bytes);
  if (kind === "") throw new Refusal("Its bytes are no PNG, JPEG, GIF or WebP.");
  const size = pngSize(bytes);
  if (size !== null && size.width * size.height > MAX_PIXELS) {
    throw new Refusal(`It has ${size.width}×${size.height} pixels: too many to show here.`);
  }
  try {
    return await createImageBitmap(new Blob([bytes], { type: TYPES[kind]! }));
  } catch {
    throw new Refusal(`Its bytes are a damaged ${kind.toUpperCase()}.`);
  }
}

/** The frames of a video, one after the other; throws where the sizes do not add up. */
export function frameSlices(
  bytes: Uint8Array<ArrayBuffer>,
  sizes: readonly number[],
): Uint8Array<ArrayBuffer>[] {
  const frames: Uint8Array<ArrayBuffer>[] = [];
  let at = 0;
  for (const size of sizes) {
    if (!Number.isInteger(size) || size < 0 || at + size > bytes.byteLength) {
      throw new Refusal("Its frames are longer than its bytes: the record is damaged.");
    }
    frames.push(bytes.subarray(at, at + size));
    at += size;
  }
  return frames;
}

// --- Frames that can be played: those of a video, or of a GIF that moves.

export interface Reel {
  readonly width: number;
  readonly height: number;
  readonly numFrames: number;
  readonly framesPerSecond: number;
  /** Decoded when it is first shown. */
  readonly frame: (nth: number) => Promise<ImageBitmap>;
}

const FIRST_RATE = 4; // frames in a second where nobody has said

export function reelOfVideo({ bytes }: FullRecord, head: VideoHead): Reel {
  return {
    width: head.width,
    height: head.height,
    numFrames: head.frame_bytes.length,
    framesPerSecond: head.frames_per_second > 0 ? head.frames_per_second : FIRST_RATE,
    frame: kept((nth) => decodePicture(frameSlices(bytes, head.frame_bytes)[nth] ?? bytes.subarray(0, 0))),
  };
}

/** Null for a GIF that stands still, and for a browser that cannot take one apart. */
export async function reelOfGif(bytes: Uint8Array<ArrayBuffer>): Promise<Reel | null> {
  if (typeof ImageDecoder === "undefined") return null;
  const decoder = new ImageDecoder({ data: bytes, type: "image/gif" });
  try {
    await decoder.tracks.ready;
    await decoder.completed;
    const numFrames = decoder.tracks.selectedTrack?.frameCount ?? 0;
    if (numFrames < 2) return null;
    const { image } = await decoder.decode({ frameIndex: 0 });
    const { displayWidth: width, displayHeight: height, duration } = image;
    image.close();
    const seconds = (duration ?? 0) / 1e6;
    const framesPerSecond = seconds > 0 ? 1 / seconds : FIRST_RATE;
    return { width, height, numFrames, framesPerSecond, frame: kept((nth) => gifFrame(decoder, nth)) };
  } catch {
    return null; // what is damaged is said where it is shown as a picture
  }
}

async function gifFrame(decoder: ImageDecoder, nth: number): Promise<ImageBitmap> {
  const { image } = await decoder.decode({ frameIndex: nth });
  try {
    return await createImageBitmap(image);
  } finally {
    image.close();
  }
}

/** The frames that were shown last stay decoded, up to so many bytes. */
function kept(decode: (nth: number) => Promise<ImageBitmap>): Reel["frame"] {
  const cache = new ByteCache<ImageBitmap>(128_000_000);
  return (nth) => cache.fetched(String(nth), () => decode(nth), ({ width, height }) => width * height * 4);
}

/** What is loaded; the one before stays until the next is ready. */
export function useLoaded<Value>(load: () => Promise<Value>, depends: readonly unknown[]): Attempt<Value> {
  const [loaded, setLoaded] = useState<Attempt<Value>>({ value: null, problem: "" });
  useEffect(() => {
    let isWanted = true;
    load().then(
      (value) => isWanted && setLoaded({ value, problem: "" }),
      (reason: unknown) => isWanted && setLoaded({ value: null, problem: messageOf(reason) }),
    );
    return () => {
      isWanted = false;
    };
  }, depends);
  return loaded;
}
