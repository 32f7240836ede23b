/** Which item of the batch is shown: small pictures of the input where it is one, and a slider over all. */
import { useEffect, useRef, useState } from "preact/hooks";
import { formatCount, formatNumberOf } from "../format";
import { Icon } from "../shell/Icon";
import * as page from "../store";
import { readPalette } from "../tensor/colour";
import type { NetLayer } from "../wire";
import { step } from "./moments";
import { goToItem, numItems } from "./netstate";
import { rank, runId } from "./netrun";
import * as store from "./store";
import { askPicture, pageOf, paintThumbnail, pictureLayer } from "./thumbnails";

const PAGE = 8;
/** Not while somebody scrubs. */
const REST_MS = 250;

export function ItemPanel() {
  const count = numItems.value;
  const item = store.item.value;
  const go = goToItem;
  if (count < 2) return null;
  const layer = pictureLayer(store.scene.value?.layers ?? []);
  return (
    <section class="net-items rule-t" aria-label="Batch item">
      <div class="panel-head">
        <h2>Batch item</h2>
        <span class="grow" />
        <span class="muted fs-1">
          item {formatCount(item)} · {formatNumberOf(count, "item")}
        </span>
      </div>
      <div class="pad">
        {layer !== null && (
          <div class="items">
            {pageOf(item, count, PAGE).map((one) => (
              <button
                key={one}
                class="item"
                aria-pressed={one === item}
                aria-label={`item ${one}`}
                onClick={() => go(one)}
              >
                <Thumbnail layer={layer} item={one} />
                <span>{formatCount(one)}</span>
              </button>
            ))}
          </div>
        )}
        <div class="row item-slider">
          <button class="btn square" aria-label="Previous item" title="Previous item ([)" disabled={item === 0} onClick={() => go(item - 1)}>
            <Icon name="left" />
          </button>
          <input
            class="grow"
            type="range"
            aria-label="Batch item"
            min={0}
            max={count - 1}
            value={item}
            onInput={(event) => go(Number(event.currentTarget.value))}
          />
          <button
            class="btn square"
            aria-label="Next item"
            title="Next item (])"
            disabled={item >= count - 1}
            onClick={() => go(item + 1)}
          >
            <Icon name="right" />
          </button>
        </div>
      </div>
    </section>
  );
}

/** The picture of the moment before stays until the next has come. */
function Thumbnail({ layer, item }: { layer: NetLayer; item: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const block = useBlock(layer, item);
  const tick = page.themeTick.value;
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (canvas.current === null || context == null || block === null) return;
    const { width, height, pixels } = paintThumbnail(layer.grid, block, readPalette("seq"));
    canvas.current.width = width;
    canvas.current.height = height;
    context.putImageData(new ImageData(pixels, width, height), 0, 0);
  }, [block, tick]);
  return <canvas ref={canvas} width={1} height={1} class={block === null ? "px none" : "px"} aria-hidden="true" />;
}

function useBlock(layer: NetLayer, item: number): store.PlateValues | null {
  const [block, setBlock] = useState<store.PlateValues | null>(null);
  const [source, run, itsRank, now] = [page.source.value, runId.value, rank.value, step.value];
  const isFirst = useRef(true);
  useEffect(() => setBlock(null), [run, layer.name]);
  useEffect(() => {
    if (source === null || now === null) return undefined;
    let isWanted = true;
    const ask = (): void => {
      askPicture(source, { runId: run, rank: itsRank, step: now, item, layer }).then(
        (found) => {
          if (isWanted) setBlock(found);
        },
        () => undefined, // the number alone says which item it is
      );
    };
    const timer = setTimeout(ask, isFirst.current ? 0 : REST_MS);
    isFirst.current = false;
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [source, run, itsRank, now, item, layer.name]);
  return block;
}
