import { expect, test } from "vitest";
import { zoomed } from "../../../../src/pages/charts/media/ImageSeries";
import { fitFactor, frameSlices, pngSize, sniff } from "../../../../src/pages/charts/media/Player";
import { peaksOf, readWav } from "../../../../src/pages/charts/media/wav";

/** A WAV file with these bytes as samples. */
function wav(
  code: number,
  bits: number,
  channels: number,
  data: Uint8Array,
  extra: Uint8Array = new Uint8Array(0),
): Uint8Array {
  const format = new Uint8Array(16 + extra.length);
  const view = new DataView(format.buffer);
  view.setUint16(0, code, true);
  view.setUint16(2, channels, true);
  view.setUint32(4, 8000, true);
  view.setUint16(14, bits, true);
  format.set(extra, 16);
  const text = (words: string): Uint8Array => new TextEncoder().encode(words);
  const size = (count: number): number[] => [
    count & 255,
    (count >> 8) & 255,
    (count >> 16) & 255,
    count >>> 24,
  ];
  const chunk = (name: string, body: Uint8Array): number[] => [
    ...text(name),
    ...size(body.length),
    ...body,
    ...(body.length % 2 === 1 ? [0] : []),
  ];
  const body = [
    ...text("WAVE"),
    ...chunk("LIST", new Uint8Array(3)),
    ...chunk("fmt ", format),
    ...chunk("data", data),
  ];
  return new Uint8Array([...text("RIFF"), ...size(body.length), ...body]);
}

const bytesOf = (numbers: ArrayBufferView<ArrayBuffer>): Uint8Array => new Uint8Array(numbers.buffer);

test("samples of all usual widths are read to the same numbers", () => {
  const wanted = [0, 0.5, -0.5, -1];
  const twentyFour = [0, 0x400000, -0x400000, -0x800000].flatMap((one) => [
    one & 255,
    (one >> 8) & 255,
    (one >> 16) & 255,
  ]);
  const files = [
    wav(1, 8, 1, new Uint8Array([128, 192, 64, 0])),
    wav(1, 16, 1, bytesOf(new Int16Array([0, 16384, -16384, -32768]))),
    wav(1, 24, 1, new Uint8Array(twentyFour)),
    wav(1, 32, 1, bytesOf(new Int32Array([0, 2 ** 30, -(2 ** 30), -(2 ** 31)]))),
    wav(3, 32, 1, bytesOf(new Float32Array(wanted))),
    wav(3, 64, 1, bytesOf(new Float64Array(wanted))),
  ];
  for (const file of files) {
    const { sampleRate, channels } = readWav(file);
    expect(sampleRate).toBe(8000);
    expect([...channels[0]!]).toEqual(wanted);
  }
});

test("channels are taken apart", () => {
  const { channels } = readWav(wav(1, 16, 2, bytesOf(new Int16Array([0, 16384, 0, 16384, 0]))));
  expect(channels.map((one) => [...one])).toEqual([
    [0, 0],
    [0.5, 0.5],
  ]);
});

test("the extended form says what it really is", () => {
  const extra = new Uint8Array(24);
  extra[8] = 3; // float
  expect([...readWav(wav(0xfffe, 32, 1, bytesOf(new Float32Array([0.25])), extra)).channels[0]!]).toEqual([
    0.25,
  ]);
});

test("a file that was cut off has the samples that are there", () => {
  const whole = wav(1, 16, 1, bytesOf(new Int16Array([16384, 16384, 16384])));
  expect(readWav(whole.subarray(0, whole.length - 2)).channels[0]).toHaveLength(2);
});

test("what is no WAV is refused in words", () => {
  expect(() => readWav(new Uint8Array(100))).toThrow(/no WAV/);
  expect(() => readWav(new Uint8Array(3))).toThrow(/no WAV/);
  expect(() => readWav(wav(85, 16, 1, new Uint8Array(4)))).toThrow(/kind 85/);
  expect(() => readWav(wav(1, 16, 0, new Uint8Array(4)))).toThrow(/not known/);
});

test("peaks have the least and the greatest of every stretch, of sounds short and long", () => {
  const long = {
    sampleRate: 1,
    channels: [Float32Array.from({ length: 1000 }, (_, at) => (at === 777 ? -1 : at / 1000))],
  };
  const { low, high } = peaksOf(long, 10);
  expect(low[7]).toBe(-1);
  expect(high[9]).toBeCloseTo(0.999);
  expect([...peaksOf({ sampleRate: 1, channels: [new Float32Array([0.5])] }, 3).high]).toEqual([
    0.5, 0.5, 0.5,
  ]);
  expect([...peaksOf({ sampleRate: 1, channels: [new Float32Array(0)] }, 2).high]).toEqual([0, 0]);
});

const PNG = new Uint8Array([
  0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 1, 0, 0, 0, 0, 0, 9,
]);

test("pictures are known by their first bytes, and a PNG says its size before it is opened", () => {
  expect(sniff(PNG)).toBe("png");
  expect(sniff(new Uint8Array([0xff, 0xd8, 0xff, 0]))).toBe("jpeg");
  expect(sniff(new TextEncoder().encode("<svg onload=alert(1)>"))).toBe("");
  expect(pngSize(PNG)).toEqual({ width: 65_536, height: 9 });
  expect(pngSize(PNG.subarray(0, 20))).toBeNull();
});

test("frames that are longer than the bytes are refused", () => {
  const bytes = new Uint8Array([1, 2, 3]);
  expect(frameSlices(bytes, [1, 2]).map((one) => [...one])).toEqual([[1], [2, 3]]);
  for (const sizes of [[4], [1, -1], [0.5], [1e12]])
    expect(() => frameSlices(bytes, sizes)).toThrow(/damaged/);
});

test("zoom goes from factor to factor, also from where a picture fits", () => {
  expect(zoomed(1, 1)).toBe(2);
  expect(zoomed(2.7, -1)).toBe(2);
  expect(zoomed(32, 1)).toBe(32);
  expect(fitFactor(400, 100, 200)).toBe(0.5);
  expect(fitFactor(0, 0, 200)).toBe(1);
});
