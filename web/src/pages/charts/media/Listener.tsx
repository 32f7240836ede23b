/** A sound: its waveform, play and pause, and where it is. */
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { formatSeconds } from "../../../data/format";
import type { FullRecord } from "../../../data/requests";
import { Drawing, type Ink } from "../../../plot/Drawing";
import { Problem, Slider, ToolButton } from "../../../plot/Figure";
import { lengthOf, peaksOf, play, playing, readWav, type Sound, stop } from "./wav";

const HEIGHT = 72;
const NUM_PLACES = 1000; // of the slider

interface Props {
  label: string;
  record: FullRecord;
  colour: number;
}

export function Listener({ label, record, colour }: Props) {
  const { sound, problem } = useMemo(() => soundOf(record), [record]);
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
      <div class="sec-slider">
        <ToolButton
          glyph={isPlaying ? "pause" : "play"}
          name={`${isPlaying ? "Pause" : "Play"} ${label}`}
          isDisabled={length === 0}
          press={() => (isPlaying ? stop() : play(sound, position >= length - 0.01 ? 0 : position))}
        />
        <Slider
          label={`Position in ${label}`}
          text={`${formatSeconds(position)} of ${formatSeconds(length)}`}
          at={Math.round(place * NUM_PLACES)}
          last={NUM_PLACES}
          set={(to) => seek((to / NUM_PLACES) * length)}
        />
        <span class="sec-out">{formatSeconds(position)}</span>
      </div>
    </div>
  );
}

function soundOf({ bytes }: FullRecord): { sound: Sound | null; problem: string } {
  try {
    return { sound: readWav(bytes), problem: "" };
  } catch (reason) {
    return { sound: null, problem: reason instanceof Error ? reason.message : String(reason) };
  }
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
