/** The picture of one point, cut out of the sheet. */
import { useEffect, useRef } from "preact/hooks";
import { decodeSprites } from "./sprites";
import * as store from "./store";

const SIDE = 56;

export function SpriteCrop({ point }: { point: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const embedding = store.loaded.value?.embedding;
  const sheet = embedding?.sprites ?? null;
  useEffect(() => {
    if (sheet === null || embedding === undefined) return undefined;
    let isWanted = true;
    decodeSprites(sheet, embedding.numPoints).then(
      ({ image }) => {
        const context = canvas.current?.getContext("2d");
        if (isWanted && context != null) {
          const [x, y] = [(point % sheet.perRow) * sheet.width, Math.floor(point / sheet.perRow) * sheet.height];
          context.clearRect(0, 0, sheet.width, sheet.height);
          context.drawImage(image, x, y, sheet.width, sheet.height, 0, 0, sheet.width, sheet.height);
        }
        image.close();
      },
      () => undefined, // the drawing says why
    );
    return () => {
      isWanted = false;
    };
  }, [sheet, point]);
  if (sheet === null) return null;
  const scale = SIDE / Math.max(sheet.width, sheet.height);
  return (
    <canvas
      ref={canvas}
      class="sprite-crop"
      role="img"
      aria-label={`Picture of point ${point}`}
      width={sheet.width}
      height={sheet.height}
      style={{ width: `${sheet.width * scale}px`, height: `${sheet.height * scale}px` }}
    />
  );
}
