/** Numbers as a picture, a pixel for each, as large as it is wanted. */
import { useLayoutEffect, useRef } from "preact/hooks";

export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8ClampedArray<ArrayBuffer>;
}

interface Props {
  style: string;
  /** In the page. */
  size: { readonly width: number; readonly height: number };
  /** Null where there is nothing to paint. */
  paint: () => Pixels | null;
  /** It is painted anew when one of these changes. */
  depends: readonly unknown[];
  /** What it shows, for those who do not see it; none where that is said elsewhere. */
  label?: string;
}

export function PixelCanvas({ style, size, paint, depends, label }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const [context, made] = [canvas.current?.getContext("2d") ?? null, paint()];
    if (context === null || made === null) return;
    [context.canvas.width, context.canvas.height] = [made.width, made.height];
    context.putImageData(new ImageData(made.pixels, made.width, made.height), 0, 0);
  }, depends);
  return (
    <canvas
      ref={canvas}
      class={style}
      role={label === undefined ? undefined : "img"}
      aria-hidden={label === undefined}
      aria-label={label}
      style={{ width: `${size.width}px`, height: `${size.height}px` }}
    />
  );
}
