/** The item that was pointed at last: what the network received, and the way to it. */
import { useEffect, useRef, useState } from "preact/hooks";
import { rank, runId } from "../netview/netrun";
import * as net from "../netview/store";
import { askPicture, paintThumbnail, pictureLayer } from "../netview/thumbnails";
import { useAsked } from "../sections/useAsked";
import * as page from "../store";
import { readPalette } from "../tensor/colour";
import { current } from "./choosing";
import { items, type Items } from "./items";
import { describe, goToItem } from "./ReadingLine";

export function ItemSection() {
  const all = items.value;
  const [last, setLast] = useState<number | null>(null);
  const now = current.value;
  useEffect(() => {
    if (now !== null) setLast(now);
  }, [now]);
  const place = now ?? last;
  if (all === null || place === null || place >= all.steps.length) return null;
  return (
    <section class="rule-t" aria-label="Item">
      <div class="panel-head">
        <h2>Item</h2>
        <span class="grow" />
        <button class="btn quiet sm" onClick={() => goToItem(all, place)}>
          Show in network
        </button>
      </div>
      <div class="pad an-item">
        <ItemPicture all={all} place={place} />
        <p>{describe(all, place)}</p>
      </div>
    </section>
  );
}

/** The picture of the item before stays until the next has come. */
function ItemPicture({ all, place }: { all: Items; place: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const layer = pictureLayer(net.scene.value?.layers ?? []);
  const source = page.source.value;
  const [step, item] = [all.steps[place]!, all.items[place]!];
  const isWanted = layer !== null && source !== null;
  const key = JSON.stringify([runId.value, rank.value, step, item, layer?.name]);
  const { value } = useAsked(
    isWanted
      ? { key, version: "", ask: () => askPicture(source, { runId: runId.peek(), rank: rank.peek(), step, item, layer }) }
      : null,
  );
  const tick = page.themeTick.value;
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (canvas.current === null || context == null || value === null || layer === null) return;
    const { width, height, pixels } = paintThumbnail(layer.grid, value, readPalette("seq"));
    Object.assign(canvas.current, { width, height });
    context.putImageData(new ImageData(pixels, width, height), 0, 0);
  }, [value, tick]);
  return value === null ? null : <canvas ref={canvas} role="img" aria-label={`${describe(all, place)}, as ${layer?.name ?? "the input"} received it`} />;
}
