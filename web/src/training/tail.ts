/** Points that came after buckets, gathered to buckets as wide as those, so that a line does not change at its end. */
import { COLUMNS, emptyColumns, type Columns } from "./seriesdata";

type Items = Columns & { readonly x: Float64Array };

/** The same items with those from `numHead` on in buckets along `x`, which rises. */
export function gatherTail(items: Items, numHead: number): Items {
  const { x } = items;
  const width = numHead < 2 ? 0 : (x[numHead - 1]! - x[0]!) / (numHead - 1);
  if (!(width > 0)) return items;
  // Where the last bucket ends, more or less.
  const start = x[numHead - 1]! + width / 2;
  const ends: number[] = [];
  for (let at = numHead; at < x.length; at++) {
    const isLast = at + 1 === x.length;
    if (isLast || bucketOf(x[at + 1]!, start, width) !== bucketOf(x[at]!, start, width)) ends.push(at + 1);
  }
  const size = numHead + ends.length;
  const gathered = { ...emptyColumns(size), x: new Float64Array(size) };
  for (const name of [...COLUMNS, "x"] as const) gathered[name].set(items[name].subarray(0, numHead));
  let from = numHead;
  ends.forEach((end, at) => {
    fold(items, from, end, gathered, numHead + at);
    from = end;
  });
  return gathered;
}

function bucketOf(x: number, start: number, width: number): number {
  return Math.max(0, Math.floor((x - start) / width));
}

/** Put the items from one place up to another into one. */
function fold(items: Items, from: number, end: number, to: Items, at: number): void {
  if (end - from === 1) {
    for (const name of [...COLUMNS, "x"] as const) to[name][at] = items[name][from]!;
    return;
  }
  let [count, bad, sum, low, high, finite] = [0, 0, 0, Infinity, -Infinity, 0];
  let [step, time, x] = [0, 0, 0];
  for (let item = from; item < end; item++) {
    const weight = items.count[item]!;
    count += weight;
    bad += items.bad[item]!;
    step += weight * items.step[item]!;
    time += weight * items.time[item]!;
    x += weight * items.x[item]!;
    if (!Number.isFinite(items.mean[item])) continue;
    const good = weight - items.bad[item]!;
    finite += good;
    sum += good * items.mean[item]!;
    low = Math.min(low, items.low[item]!);
    high = Math.max(high, items.high[item]!);
  }
  const isEmpty = finite === 0;
  Object.entries({
    x: x / count,
    step: step / count,
    time: time / count,
    mean: isEmpty ? NaN : sum / finite,
    low: isEmpty ? NaN : low,
    high: isEmpty ? NaN : high,
    count,
    bad,
  }).forEach(([name, value]) => (to[name as keyof Items][at] = value));
}
