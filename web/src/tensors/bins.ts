/** The bytes of a histogram, rising edges and then counts, and the bars that are drawn of them. */

export interface Bins {
  /** One more than there are bins. */
  readonly edges: Float64Array;
  readonly counts: Float64Array;
}

export interface Span {
  readonly low: number;
  readonly high: number;
}

export interface Bar {
  readonly from: number;
  readonly to: number;
  readonly count: number;
  /** From 0 to 1: how close together the values are, against the fullest bar. */
  readonly height: number;
}

export interface Bars {
  readonly bars: readonly Bar[];
  /** The counts were shared out to bins of one width, and are not exact. */
  readonly isEven: boolean;
}

const NUM_EVEN = 100;
/** Bins are drawn as they were logged where none is narrower than this share of the whole. */
const LEAST_SHARE = 1 / 250;
const LARGEST = Number.MAX_VALUE;

/** Throws a sentence where the bytes are not what the head says. */
export function readBins(numBins: number, buffer: ArrayBuffer, offset: number): Bins {
  if (buffer.byteLength - offset !== 8 * (2 * numBins + 1))
    throw new Error(`The record is damaged: ${numBins} bins do not make ${buffer.byteLength - offset} bytes.`);
  const edges = new Float64Array(buffer, offset, numBins + 1);
  return { edges, counts: new Float64Array(buffer, offset + 8 * (numBins + 1), numBins) };
}

/** The same bins, their ends drawn in to the lowest and the highest value: the outer bins of many logs reach far. */
export function drawnIn({ edges, counts }: Bins, min: number | null, max: number | null): Bins {
  const [low, high] = [min ?? -LARGEST, max ?? LARGEST];
  return { edges: low <= high ? edges.map((edge) => Math.min(high, Math.max(low, edge))) : edges, counts };
}

/** From the lowest to the highest bin that holds something, of all of them; never without extent. */
export function filledSpan(all: readonly Bins[]): Span {
  let [low, high] = [Infinity, -Infinity];
  for (const { edges, counts } of all) {
    const first = counts.findIndex((count) => count > 0);
    if (first < 0) continue;
    low = Math.min(low, edges[first]!);
    high = Math.max(high, edges[counts.findLastIndex((count) => count > 0) + 1]!);
  }
  if (low > high) return { low: 0, high: 1 };
  if (low < high) return { low, high };
  // So that a large number has room on both sides, too.
  const half = Math.max(0.5, Math.abs(low) * 2 ** -40);
  return { low: Math.max(low - half, -LARGEST), high: Math.min(high + half, LARGEST) };
}

/** Where a value lies between the ends, from 0 to 1. Halved: the distance between them may be no number. */
export function shareAt({ low, high }: Span, value: number): number {
  return (value / 2 - low / 2) / (high / 2 - low / 2);
}

/**
 * The bars of a histogram. Bins that are too narrow to be seen, as those of a logarithmic row of edges near nought are,
 * would take the whole height and leave nothing for the others: these are brought to bins of one width.
 */
export function barsOf(bins: Bins, span: Span): Bars {
  const isSeen = (count: number, at: number): boolean =>
    count <= 0 || shareAt(span, bins.edges[at + 1]!) - shareAt(span, bins.edges[at]!) >= LEAST_SHARE;
  if (bins.counts.length <= 1 / LEAST_SHARE && bins.counts.every(isSeen)) return { bars: heightened(bins, span), isEven: false };
  return { bars: heightened(evenBins(bins, span, NUM_EVEN), span), isEven: true };
}

/** Counts on bins of one width. What a bin holds is shared out by how much of it lies in each of the new ones. */
export function evenBins({ edges, counts }: Bins, span: Span, numBins: number): Bins {
  const even = new Float64Array(numBins);
  const place = (value: number): number => Math.min(numBins, Math.max(0, shareAt(span, value) * numBins));
  counts.forEach((count, at) => {
    if (!(count > 0)) return;
    const [from, to] = [place(edges[at]!), place(edges[at + 1]!)];
    const [first, last] = [Math.min(numBins - 1, Math.floor(from)), Math.min(numBins - 1, Math.ceil(to) - 1)];
    // A bin in a single new one, also one without width, stays whole.
    if (last <= first) even[first]! += count;
    else for (let bin = first; bin <= last; bin++) even[bin]! += count * ((Math.min(to, bin + 1) - Math.max(from, bin)) / (to - from));
  });
  const edge = (share: number): number => span.low * (1 - share) + span.high * share;
  return { edges: Float64Array.from({ length: numBins + 1 }, (_, at) => edge(at / numBins)), counts: even };
}

/** The height is the density, so that wide bins do not look fuller than they are. */
function heightened({ edges, counts }: Bins, span: Span): Bar[] {
  const density = counts.map((count, at) =>
    count > 0 ? count / (shareAt(span, edges[at + 1]!) - shareAt(span, edges[at]!)) : 0,
  );
  const most = density.reduce((one, other) => Math.max(one, other), 0);
  return Array.from(counts, (count, at) => ({
    from: edges[at]!,
    to: edges[at + 1]!,
    count,
    height: most > 0 ? density[at]! / most : 0,
  }));
}
