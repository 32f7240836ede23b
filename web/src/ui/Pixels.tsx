/** A canvas with a pixel for each number, as large as it is shown. */
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8ClampedArray<ArrayBuffer>;
}

type Props = JSX.IntrinsicElements["canvas"] & {
  /** Null where there is nothing to paint; where painting is work, what does it when one of `depends` has changed. */
  picture: Picture | null | (() => Picture | null);
  depends?: readonly unknown[];
};

export function Pixels({ picture, depends = [picture], ...rest }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const made = typeof picture === "function" ? picture() : picture;
    if (canvas.current === null || made === null) return;
    const { width, height, pixels } = made;
    [canvas.current.width, canvas.current.height] = [width, height];
    if (width > 0 && height > 0) canvas.current.getContext("2d")?.putImageData(new ImageData(pixels, width, height), 0, 0);
  }, depends);
  return <canvas ref={canvas} {...rest} />;
}

/** What share of an element the pointer has gone through, from its upper left. */
export function shareUnder(event: MouseEvent): readonly [across: number, down: number] {
  const area = (event.currentTarget as Element).getBoundingClientRect();
  return [(event.clientX - area.left) / area.width, (event.clientY - area.top) / area.height];
}
