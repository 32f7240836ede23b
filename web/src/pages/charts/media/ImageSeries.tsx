/** Pictures of one series: how large they are, and what was marked in them. */
import { useEffect, useState } from "preact/hooks";
import { formatCount, formatNumberOf } from "../../../data/format";
import type { FullRecord } from "../../../data/requests";
import { ToolButton, Waiting } from "../../../plot/Figure";
import { useWidth } from "../../../ui/useWidth";
import type { ImageHead } from "../../../wire";
import { Series } from "../Series";
import { Bitmap, decodePicture, fitFactor, Player, reelOfGif, sniff, TYPES, useLoaded } from "./Player";

export function ImageSeries({ name }: { name: string }) {
  const [zoom, setZoom] = useState<Zoom>("fit");
  const [factor, setFactor] = useState(1);
  return (
    <Series
      kind="image"
      name={name}
      height={180}
      remark={({ entry: { head } }) => (head.kind === "image" ? `${head.width}×${head.height}` : "")}
      tools={
        <div class="sec-tools" role="group" aria-label={`Zoom of ${name}`}>
          <ToolButton glyph="minus" name={`Zoom out of ${name}`} press={() => setZoom(zoomed(factor, -1))} />
          <ToolButton glyph="frame" name={`Fit ${name}`} isPressed={zoom === "fit"} press={() => setZoom("fit")} />
          <ToolButton glyph="plus" name={`Zoom into ${name}`} press={() => setZoom(zoomed(factor, 1))} />
        </div>
      }
      saved={({ bytes }) => ({ extension: sniff(bytes) || "bin", type: TYPES[sniff(bytes)] ?? "application/octet-stream" })}
      show={(run, record) => {
        const { head, step } = record.entry;
        const boxes = head.kind === "image" && head.boxes.length > 0 ? `, ${formatNumberOf(head.boxes.length, "box", "boxes")}` : "";
        const label = `${name} of ${run.name} at step ${formatCount(step)}${boxes}`;
        const Shown = sniff(record.bytes) === "gif" ? MovingPicture : Picture;
        return <Shown label={label} record={record} zoom={zoom} onFactor={setFactor} />;
      }}
    />
  );
}

/** A GIF: played where it moves, a picture where it does not. TensorBoard keeps videos so. */
function MovingPicture(props: PictureProps) {
  const { bytes } = props.record;
  const { value: reel } = useLoaded(() => reelOfGif(bytes), [bytes]);
  return reel === null ? <Picture {...props} /> : <Player label={props.label} reel={reel} />;
}

// --- A picture that stands still.

interface PictureProps {
  label: string;
  record: FullRecord;
  zoom: Zoom;
  onFactor: (factor: number) => void;
}

/** A picture on a canvas, pixel by pixel, with what was marked in it on top. */
function Picture({ label, record, zoom, onFactor }: PictureProps) {
  const { value: bitmap, problem } = useLoaded(() => decodePicture(record.bytes), [record]);
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
        <Bitmap {...{ bitmap, label, factor }} width={bitmap.width} height={bitmap.height}>
          {head.kind === "image" && head.boxes.length > 0 && (
            <Boxes head={head} width={bitmap.width} height={bitmap.height} factor={factor} />
          )}
        </Bitmap>
      )}
    </div>
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

/** `fit`, or screen pixels for each pixel of the picture. */
type Zoom = "fit" | number;

const FACTORS = [0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 32];
/** The next factor up (1) or down (−1) from the one that is shown. */
export function zoomed(shown: number, by: 1 | -1): number {
  if (by === 1) return FACTORS.find((factor) => factor > shown * 1.001) ?? FACTORS.at(-1)!;
  return FACTORS.findLast((factor) => factor < shown * 0.999) ?? FACTORS[0]!;
}
