/** Read a WAV file: its samples as numbers from −1 to 1, channel by channel. */
import { effect, signal } from "@preact/signals";
import { recall, remember } from "../../../data/remembered";
import { Refusal } from "../../../data/source";

const PCM = 1;
const FLOAT = 3;
const EXTENSIBLE = 0xfffe;

export interface Sound {
  readonly sampleRate: number;
  readonly channels: readonly Float32Array<ArrayBuffer>[];
}

interface Format {
  readonly code: number;
  readonly numChannels: number;
  readonly sampleRate: number;
  readonly bits: number;
}

type Reader = (view: DataView, at: number) => number;

/** By kind and bits. Samples of eight bits have no sign; all others have. */
const READERS: Readonly<Record<string, Reader>> = {
  "1 8": (view, at) => (view.getUint8(at) - 128) / 128,
  "1 16": (view, at) => view.getInt16(at, true) / 32768,
  "1 24": (view, at) => ((view.getInt8(at + 2) << 16) | view.getUint16(at, true)) / 8388608,
  "1 32": (view, at) => view.getInt32(at, true) / 2147483648,
  "3 32": (view, at) => view.getFloat32(at, true),
  "3 64": (view, at) => view.getFloat64(at, true),
};

export function readWav(bytes: Uint8Array): Sound {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.byteLength < 12 || tag(view, 0) !== "RIFF" || tag(view, 8) !== "WAVE")
    throw new Refusal("Its bytes are no WAV file.");
  let format: Format | null = null;
  for (let at = 12; at + 8 <= view.byteLength;) {
    const size = view.getUint32(at + 4, true);
    const [from, to] = [at + 8, Math.min(at + 8 + size, view.byteLength)];
    if (tag(view, at) === "fmt " && to - from >= 16) format = formatAt(view, from, to);
    // A file that was cut off, or whose writer did not know its length, has as many samples as are there.
    if (tag(view, at) === "data" && format !== null) return soundOf(view, format, from, to);
    at = from + size + (size % 2);
  }
  throw new Refusal("It is a WAV file without samples.");
}

function tag(view: DataView, at: number): string {
  return String.fromCharCode(...new Uint8Array(view.buffer, view.byteOffset + at, 4));
}

function formatAt(view: DataView, from: number, to: number): Format {
  const code = view.getUint16(from, true);
  return {
    // The extended form says further on what it really is.
    code: code === EXTENSIBLE && to - from >= 26 ? view.getUint16(from + 24, true) : code,
    numChannels: view.getUint16(from + 2, true),
    sampleRate: view.getUint32(from + 4, true),
    bits: view.getUint16(from + 14, true),
  };
}

function soundOf(
  view: DataView,
  { code, numChannels, sampleRate, bits }: Format,
  from: number,
  to: number,
): Sound {
  const read = READERS[`${code} ${bits}`];
  if (read === undefined || numChannels === 0 || sampleRate === 0) {
    const kind = code === PCM || code === FLOAT ? `${bits} bits a sample` : `kind ${code}`;
    throw new Refusal(`It is a WAV file of a kind that is not known here (${kind}).`);
  }
  const size = bits / 8;
  const numFrames = Math.floor((to - from) / (size * numChannels));
  const channels = Array.from({ length: numChannels }, (_, channel) => {
    const samples = new Float32Array(numFrames);
    for (let frame = 0; frame < numFrames; frame++)
      samples[frame] = read(view, from + (frame * numChannels + channel) * size);
    return samples;
  });
  return { sampleRate, channels };
}

/** The least and the greatest sample of each of so many stretches, over all channels. */
export function peaksOf({ channels }: Sound, count: number): { low: Float32Array; high: Float32Array } {
  const [low, high] = [new Float32Array(count), new Float32Array(count)];
  const length = channels[0]?.length ?? 0;
  for (let at = 0; at < count; at++) {
    const from = Math.floor((at * length) / count);
    const to = Math.min(length, Math.max(from + 1, Math.floor(((at + 1) * length) / count)));
    let [least, most] = [Infinity, -Infinity];
    for (const samples of channels) {
      for (let nth = from; nth < to; nth++) {
        const sample = samples[nth]!;
        if (sample < least) least = sample;
        if (sample > most) most = sample;
      }
    }
    low[at] = Number.isFinite(least) ? least : 0;
    high[at] = Number.isFinite(most) ? most : 0;
  }
  return { low, high };
}

// --- Play one sound at a time through the loudspeaker.

interface Playing {
  readonly sound: Sound;
  /** Seconds since its beginning, as the clock of the loudspeaker stands. */
  position(): number;
}

export const playing = signal<Playing | null>(null);
export const volume = signal(recalledVolume());

let context: AudioContext | null = null;
let gain: GainNode | null = null;
let node: AudioBufferSourceNode | null = null;

export function lengthOf({ channels, sampleRate }: Sound): number {
  return (channels[0]?.length ?? 0) / sampleRate;
}

export function play(sound: Sound, from: number): void {
  stop();
  // Only now: a browser gives no sound before somebody has pressed something.
  context ??= new AudioContext();
  gain ??= connectedGain(context);
  const length = Math.max(1, sound.channels[0]?.length ?? 0);
  const buffer = context.createBuffer(sound.channels.length, length, sound.sampleRate);
  for (const [nth, samples] of sound.channels.entries()) buffer.copyToChannel(samples, nth);
  const started = new AudioBufferSourceNode(context, { buffer });
  started.connect(gain);
  const begin = context.currentTime - from;
  started.onended = () => {
    if (node === started) playing.value = null;
  };
  started.start(0, from);
  void context.resume();
  node = started;
  const clock = context;
  playing.value = { sound, position: () => Math.min(lengthOf(sound), clock.currentTime - begin) };
}

export function stop(): void {
  const old = node;
  node = null;
  old?.stop();
  playing.value = null;
}

function connectedGain(on: AudioContext): GainNode {
  const made = new GainNode(on);
  made.connect(on.destination);
  effect(() => {
    made.gain.value = volume.value;
  });
  return made;
}

export function setVolume(value: number): void {
  volume.value = value;
  remember("volume", String(value));
}

function recalledVolume(): number {
  const known = Number(recall("volume") ?? "0.8");
  return known >= 0 && known <= 1 ? known : 0.8;
}
