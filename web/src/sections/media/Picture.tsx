/** A picture on a canvas, pixel by pixel, with what was marked in it on top. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useWidth } from "../../measuring/useWidth";
import type { ImageHead } from "../../wire";
import type { FullRecord } from "../asking";
import { pixels } from "../options";
import { Waiting } from "../Waiting";
import { decodePicture } from "./decoding";
import { fitFactor, type Zoom } from "./zoom";

export interface PictureProps {
  label: string;
  record: FullRecord;
  zoom: Zoom;
  /** The factor at which it is shown. */
  onFactor: (factor: number) => void;
}

export function Picture({ label, record, zoom, onFactor }: PictureProps) {
  const { bitmap, problem } = useBitmap(record);
  const [box, room] = useWidth<HTMLDivElement>(280);
  const factor = bitmap === null ? 1 : zoom === "fit" ? fitFactor(bitmap.width, bitmap.height, room) : zoom;
  useEffect(() => onFactor(factor), [factor]);
  const isScrolled =
    bitmap !== null && zoom !== "fit" && (bitmap.width * factor > room || bitmap.height * factor > 480);
  const { head } = record.entry;
  return (
    <div
      ref={box}
      class="sec-view"
      tabIndex={isScrolled ? 0 : undefined}
      data-keys={isScrolled ? "own" : undefined}
    >
      {bitmap === null ? (
        <Waiting problem={problem} height={120} retry={() => undefined} />
      ) : (
        <div
          class="sec-sized"
          style={{ width: `${bitmap.width * factor}px`, height: `${bitmap.height * factor}px` }}
        >
          <Bitmap bitmap={bitmap} label={label} isSharp={pixels.value === "sharp" && factor >= 1} />
          {head.kind === "image" && head.boxes.length > 0 && (
            <Boxes head={head} width={bitmap.width} height={bitmap.height} factor={factor} />
          )}
        </div>
      )}
    </div>
  );
}

interface Decoded {
  readonly bitmap: ImageBitmap | null;
  readonly problem: string;
}

/** The picture of a record; the one before stays until the next is ready. */
function useBitmap(record: FullRecord): Decoded {
  const [decoded, setDecoded] = useState<Decoded>({ bitmap: null, problem: "" });
  useEffect(() => {
    let isWanted = true;
    decodePicture(record.bytes).then(
      (bitmap) => (isWanted ? setDecoded({ bitmap, problem: "" }) : bitmap.close()),
      (reason: unknown) =>
        isWanted &&
        setDecoded({ bitmap: null, problem: reason instanceof Error ? reason.message : String(reason) }),
    );
    return () => {
      isWanted = false;
    };
  }, [record]);
  return decoded;
}

interface BitmapProps {
  bitmap: ImageBitmap;
  label: string;
  isSharp: boolean;
}

export function Bitmap({ bitmap, label, isSharp }: BitmapProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    if (canvas.current === null) return;
    canvas.current.width = bitmap.width;
    canvas.current.height = bitmap.height;
    canvas.current.getContext("2d")?.drawImage(bitmap, 0, 0);
  }, [bitmap]);
  return (
    <canvas
      ref={canvas}
      class={isSharp ? "sec-picture sharp" : "sec-picture"}
      role="img"
      aria-label={label}
    />
  );
}

interface BoxesProps {
  head: ImageHead;
  width: number;
  height: number;
  factor: number;
}

/** Frames in the pixels of the screen, so that their lines are as thin at every zoom. */
function Boxes({ head, width, height, factor }: BoxesProps) {
  return (
    <svg class="sec-boxes" width={width * factor} height={height * factor} aria-hidden="true">
      {head.boxes.map((box, nth) => {
        const [left = 0, top = 0, right = 0, bottom = 0] = box.map((edge) =>
          Number.isFinite(edge) ? edge * factor : 0,
        );
        const label = head.box_labels[nth] ?? "";
        const shape = {
          x: left,
          y: top,
          width: Math.max(0, right - left),
          height: Math.max(0, bottom - top),
        };
        return (
          <g key={nth}>
            <rect class="halo" {...shape} />
            <rect {...shape} />
            {label !== "" && (
              <text x={left + 3} y={top >= 14 ? top - 4 : top + 12}>
                {label}
              </text>
            )}
          </g>
        );
      })}
    </svg>
  );
}
