/** Play one sound at a time through the loudspeaker. */
import { effect, signal } from "@preact/signals";
import { recall, remember } from "../../remembered";
import type { Sound } from "./wav";

/** What is heard now. */
export interface Playing {
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
  const made = on.createGain();
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
