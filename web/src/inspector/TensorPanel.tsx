/** One tensor: picture, histogram, figures and numbers, or why it is not there. */
import { useState } from "preact/hooks";
import { Blank } from "../shell/Blank";
import type { TensorAnswer, TensorValues } from "../source/source";
import * as store from "../store";
import { autoScale, type Scale } from "../tensor/colour";
import { stepItem } from "../tensor/items";
import { gridOf, type Start } from "../tensor/window";
import type { PassDocument, TensorView } from "../wire";
import { Histogram } from "./Histogram";
import { ItemStepper } from "./ItemStepper";
import { Numbers } from "./Numbers";
import { Picture } from "./Picture";
import { whyNotSaved, type Subject } from "./subjects";
import { TensorFigures } from "./TensorFigures";
import { TensorSkeleton } from "./TensorSkeleton";
import { useTensor } from "./useTensor";

interface Props {
  document: PassDocument;
  subject: Subject;
}

export function TensorPanel({ document, subject }: Props) {
  const first = useTensor(subject, subject.isThere ? null : undefined);
  if (!subject.isThere) return <NotThere title="Not saved" reason={whyNotSaved(document, subject, isOfRun())} />;
  if (first === null) return <TensorSkeleton />;
  if ("missing" in first) return <NotThere title="No values to show" reason={first.missing} />;
  return <TensorParts subject={subject} first={first} />;
}

function NotThere({ title, reason }: { title: string; reason: string }) {
  return (
    <div class="section tensor-blank">
      <Blank icon="frame" title={title}>
        <span>{reason}</span>
      </Blank>
    </div>
  );
}

/** One item of the tensor as its base window shows it; null while it is on its way. */
function useItem(subject: Subject, first: TensorValues, item: readonly number[]): TensorAnswer | null {
  const { window } = first.view;
  const isFirst = item.join() === window.item.join();
  const other = useTensor(subject, isFirst ? undefined : { ...window, item: [...item] });
  return isFirst ? first : other;
}

function TensorParts({ subject, first }: { subject: Subject; first: TensorValues }) {
  const { view } = first;
  const [item, setItem] = useState<readonly number[]>(view.window.item);
  const [fixed, setFixed] = useState<Scale | null>(null);
  const base = useItem(subject, first, item);
  const scale = fixed ?? autoScale(view);
  const canMove = store.source.value?.canMove ?? false;
  const itemShape = gridOf(view.shape).itemShape;
  // From the newest item, not the one on screen: quick steps are all taken.
  const step = (by: number): void => setItem((now) => stepItem(itemShape, now, by) ?? now);
  const hasItems = first.values.length > 0 && itemShape.some((size) => size > 1);
  return (
    <>
      {hasItems && <ItemStepper shape={itemShape} item={item} canMove={canMove} onStep={step} />}
      {base === null ? (
        <TensorSkeleton />
      ) : "missing" in base ? (
        <NotThere title="No values to show" reason={base.missing} />
      ) : (
        <ItemParts
          subject={subject}
          base={base}
          scale={scale}
          fixed={fixed}
          onScale={setFixed}
          canMove={canMove}
        />
      )}
    </>
  );
}

interface ItemProps {
  subject: Subject;
  base: TensorValues;
  scale: Scale;
  fixed: Scale | null;
  onScale: (scale: Scale | null) => void;
  canMove: boolean;
}

function ItemParts({ subject, base, scale, fixed, onScale, canMove }: ItemProps) {
  const [start, setStart] = useState<Start>({ tiles: 0, rows: 0, columns: 0 });
  const { view } = base;
  const hasValues = base.values.length > 0;
  const tile = start.tiles + (canMove ? 0 : view.window.first_tile);
  return (
    <>
      {hasValues ? (
        <Picture
          subject={subject}
          base={base}
          scale={scale}
          isAuto={fixed === null}
          onScale={onScale}
          tile={tile}
          onChoose={setStart}
          canMove={canMove}
        />
      ) : (
        <NoValues view={view} />
      )}
      <Histogram view={view} scale={scale} />
      <TensorFigures view={view} />
      {hasValues && (
        <Numbers
          subject={subject}
          base={base}
          scale={scale}
          start={start}
          onMove={setStart}
          canMove={canMove}
        />
      )}
    </>
  );
}

/** Figures came, values did not: the tensor is empty, or the file had no room. */
function NoValues({ view }: { view: TensorView }) {
  if (view.num_elements === 0) return <NotThere title="Empty" reason="This tensor has no elements." />;
  return (
    <NotThere
      title="Values not in this file"
      reason="Its byte budget was used up; the figures below are of the whole tensor."
    />
  );
}

/** Is the pass that is shown one that a run was given? */
function isOfRun(): boolean {
  const passes = store.source.value?.passes.value ?? [];
  return passes.some((pass) => pass.id === store.passId.value && pass.run_id !== "");
}
