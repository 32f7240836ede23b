/** A canvas with a pixel for each number, as large as it is shown. */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8ClampedArray<ArrayBuffer>;
}

export function Pixels({ picture, ...rest }: { picture: Picture } & JSX.IntrinsicElements["canvas"]) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width, height, pixels } = picture;
  useEffect(() => {
    if (width > 0 && height > 0) canvas.current?.getContext("2d")?.putImageData(new ImageData(pixels, width, height), 0, 0);
  }, [picture]);
  return <canvas ref={canvas} width={width} height={height} {...rest} />;
}

/** What share of an element the pointer has gone through, from its upper left. */
export function shareUnder(event: MouseEvent): readonly [across: number, down: number] {
  const area = (event.currentTarget as Element).getBoundingClientRect();
  return [(event.clientX - area.left) / area.width, (event.clientY - area.top) / area.height];
}
