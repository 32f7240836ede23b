/** A tensor in one column: picture, histogram, figures, numbers. */
import type { ComponentChildren } from "preact";
import { TensorFigures } from "./Facts";
import { Histogram } from "./Histogram";
import { Numbers } from "./Numbers";
import { Picture, type TensorLook } from "./Picture";

/** `empty` stands in the place of picture and numbers where there are no values. */
export function TensorColumn({ empty = null, ...look }: TensorLook & { empty?: ComponentChildren }) {
  const { view, values } = look.base;
  return (
    <>
      {values.length > 0 ? <Picture {...look} /> : empty}
      <Histogram view={view} scale={look.scale} />
      <TensorFigures view={view} />
      {values.length > 0 && <Numbers {...look} />}
    </>
  );
}
