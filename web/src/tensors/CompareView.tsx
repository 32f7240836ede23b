/** A tensor at two steps: the same window of both is fetched, all of it where it may be had at once. */
import { TensorSkeleton } from "../inspector/TensorSkeleton";
import { formatShape } from "../format";
import { Blank } from "../shell/Blank";
import * as page from "../store";
import type { RecordListing } from "../wire";
import { CompareColumns } from "./CompareColumns";
import { Items } from "./Items";
import { runTensor } from "./runtensor";
import { useItem } from "./useItem";
import { missingIn, useLatest, valuesIn, type Latest } from "./useLatest";
import { largestWindow } from "./windows";

interface Props {
  runId: string;
  a: RecordListing;
  b: RecordListing;
}

export function CompareView({ runId, a, b }: Props) {
  if (a.head.kind === "tensor" && b.head.kind === "tensor" && a.head.shape.join() !== b.head.shape.join()) {
    const [left, right] = [formatShape(a.head.shape), formatShape(b.head.shape)];
    return <Missing reason={`The shapes differ: ${left} at step ${a.step}, ${right} at step ${b.step}.`} />;
  }
  return <SameShape runId={runId} a={a} b={b} />;
}

function SameShape({ runId, a, b }: Props) {
  const source = page.source.value;
  const subjectA = source === null ? null : runTensor(source, runId, a.record);
  const subjectB = source === null ? null : runTensor(source, runId, b.record);
  const choice = useItem();
  const first = useLatest(subjectA, null);
  const look = valuesIn(first)?.view;
  const window = look === undefined ? undefined : largestWindow(look.shape, choice.itemOf(look), look.window);
  const [left, right] = [useLatest(subjectA, window), useLatest(subjectB, window)];
  const reason = firstReason(first, left, right);
  if (reason !== null) return <Missing reason={reason} />;
  const [valuesA, valuesB] = [valuesIn(left), valuesIn(right)];
  if (look === undefined || valuesA === null || valuesB === null) return <TensorSkeleton />;
  return (
    <div class="tensor-parts" aria-busy={left.isPending || right.isPending}>
      <Items view={look} choice={choice} />
      <CompareColumns a={a} b={b} valuesA={valuesA} valuesB={valuesB} />
    </div>
  );
}

function firstReason(...all: readonly Latest[]): string | null {
  return all.map(missingIn).find((reason) => reason !== null) ?? null;
}

function Missing({ reason }: { reason: string }) {
  return (
    <Blank icon="frame" title="Nothing to compare">
      <span>{reason}</span>
    </Blank>
  );
}
