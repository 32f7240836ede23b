/** One tensor at one step: picture, numbers, histogram, figures. */
import { useState } from "preact/hooks";
import { Histogram } from "../inspector/Histogram";
import { Numbers } from "../inspector/Numbers";
import { Picture } from "../inspector/Picture";
import type { AskableTensor } from "../inspector/subjects";
import { TensorFigures } from "../inspector/TensorFigures";
import { TensorSkeleton } from "../inspector/TensorSkeleton";
import { Blank } from "../shell/Blank";
import type { TensorValues } from "../source/source";
import * as page from "../store";
import type { Start } from "../tensor/window";
import type { RecordListing, Window } from "../wire";
import { Downloads } from "./Downloads";
import { Items } from "./Items";
import { runTensor } from "./runtensor";
import { ScaleChoice } from "./ScaleChoice";
import { useItem } from "./useItem";
import { missingIn, useLatest, valuesIn } from "./useLatest";
import { useScale } from "./useScale";

interface Props {
  runId: string;
  record: RecordListing;
}

export function TensorAtStep({ runId, record }: Props) {
  const source = page.source.value;
  const subject = source === null ? null : runTensor(source, runId, record.record);
  const choice = useItem();
  const first = useLatest(subject, null);
  const whole = valuesIn(first);
  const moved = useLatest(subject, whole === null ? undefined : otherItem(whole, choice.itemOf(whole.view)));
  const reason = missingIn(first) ?? missingIn(moved);
  if (reason !== null) return <Missing reason={reason} />;
  if (whole === null || first.held === null) return <TensorSkeleton />;
  const isOther = otherItem(whole, choice.itemOf(whole.view)) !== undefined;
  const base = isOther ? (valuesIn(moved) ?? whole) : whole;
  return (
    <div class="tensor-parts" aria-busy={first.isPending || moved.isPending}>
      <Items view={whole.view} choice={choice} />
      <Parts subject={first.held.subject} base={base} />
    </div>
  );
}

/** The window of the item that is wanted; undefined where it is the first look itself. */
function otherItem({ view }: TensorValues, item: readonly number[]): Window | undefined {
  return item.join() === view.window.item.join() ? undefined : { ...view.window, item: [...item] };
}

function Missing({ reason }: { reason: string }) {
  return (
    <Blank icon="frame" title="No values to show">
      <span>{reason}</span>
    </Blank>
  );
}

function Parts({ subject, base }: { subject: AskableTensor; base: TensorValues }) {
  const [start, setStart] = useState<Start>({ tiles: 0, rows: 0, columns: 0 });
  const { scale, isAuto, setFixed } = useScale(base.view);
  if (base.values.length === 0) return <Missing reason="This tensor has no elements." />;
  const key = base.view.shape.join();
  return (
    <div class="tensor-columns" key={key}>
      <div>
        <Picture
          subject={subject}
          base={base}
          scale={scale}
          isAuto={isAuto}
          onScale={setFixed}
          tile={start.tiles}
          onChoose={setStart}
          canMove
        />
        <ScaleChoice />
        <Numbers subject={subject} base={base} scale={scale} start={start} onMove={setStart} canMove />
      </div>
      <div>
        <Histogram view={base.view} scale={scale} />
        <TensorFigures view={base.view} />
        <Downloads subject={subject} base={base} />
      </div>
    </div>
  );
}
