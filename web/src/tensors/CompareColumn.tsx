/** One of the columns of a comparison. Where one of them is moved, all are. */
import type { ComponentChildren } from "preact";
import { Histogram } from "../inspector/Histogram";
import { Numbers } from "../inspector/Numbers";
import { Picture } from "../inspector/Picture";
import type { AskableTensor } from "../inspector/subjects";
import { TensorFigures } from "../inspector/TensorFigures";
import type { TensorValues } from "../source/source";
import type { Scale } from "../tensor/colour";
import type { Start } from "../tensor/window";

/** Nobody is asked: all that is compared is here. */
const HERE: AskableTensor = {
  key: "here",
  ask: () => Promise.resolve({ missing: "This value is not among those that were compared." }),
};

interface Props {
  title: ComponentChildren;
  base: TensorValues;
  scale: Scale;
  isAuto: boolean;
  onScale: (scale: Scale | null) => void;
  start: Start;
  onStart: (start: Start | ((now: Start) => Start)) => void;
  children?: ComponentChildren;
}

export function CompareColumn({ title, base, scale, isAuto, onScale, start, onStart, children }: Props) {
  return (
    <div>
      <div class="column-title">{title}</div>
      <Picture
        subject={HERE}
        base={base}
        scale={scale}
        isAuto={isAuto}
        onScale={onScale}
        tile={start.tiles}
        onChoose={onStart}
        canMove={false}
      />
      <Histogram view={base.view} scale={scale} />
      <TensorFigures view={base.view} />
      <Numbers subject={HERE} base={base} scale={scale} start={start} onMove={onStart} canMove={false} />
      {children}
    </div>
  );
}
