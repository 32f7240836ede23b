/** The layers, to choose one from: the same for all pictures. */
import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { formatCount } from "../format";
import { FilterField } from "../runs/FilterField";
import { useRowsInView } from "../runs/useRowsInView";
import type { FeatureLayer } from "../wire";
import * as store from "./store";
import { shapeText } from "./wording";

const ROW_HEIGHT = 24;

export const filter = signal("");

/** The numbers of the layers that the filter leaves. */
export function filtered(all: readonly FeatureLayer[], text: string): number[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const isIn = ({ name, label, address }: FeatureLayer): boolean =>
    words.every((word) => `${name} ${label} ${address}`.toLowerCase().includes(word));
  return all.flatMap((layer, at) => (isIn(layer) ? [at] : []));
}

export function LayerList() {
  const all = store.layers.value;
  const shown = filtered(all, filter.value);
  const box = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const { first, end, reveal } = useRowsInView(box, shown.length, ROW_HEIGHT);
  const place = shown.indexOf(store.layerAt.value);
  useLayoutEffect(() => {
    if (place >= 0) reveal(place);
  }, [place]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = { ArrowDown: 1, ArrowUp: -1, Home: -shown.length, End: shown.length }[event.key];
    if (event.key === "Enter") store.chooseSight("values");
    else if (by !== undefined && shown.length > 0) {
      store.chooseLayer(shown[Math.max(0, Math.min(shown.length - 1, place + by))]!);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const more = (store.detail.value?.num_layers ?? 0) - all.length;
  return (
    <>
      <div class="panel-head ft-rule">
        <h2>Layers</h2>
        <span class="muted fs-1">{shown.length < all.length ? `${formatCount(shown.length)} of ${formatCount(all.length)}` : ""}</span>
      </div>
      {all.length > 8 && (
        <div class="pad-s">
          <FilterField
            label="Filter layers"
            placeholder="Filter layers"
            value={filter.value}
            problem=""
            onChange={(text) => (filter.value = text)}
            onLeave={() => list.current?.focus()}
          />
        </div>
      )}
      <div class="panel-body ft-layers" ref={box}>
        <ul
          ref={list}
          class="rows"
          role="listbox"
          aria-label="Layers"
          aria-activedescendant={place >= 0 ? `ft-layer-${store.layerAt.value}` : undefined}
          tabIndex={0}
          style={{ height: `${shown.length * ROW_HEIGHT}px`, paddingTop: `${first * ROW_HEIGHT}px` }}
          onKeyDown={onKeyDown}
        >
          {shown.slice(first, end).map((at) => (
            <Row key={at} at={at} layer={all[at]!} isChosen={at === store.layerAt.value} />
          ))}
        </ul>
        {all.length > 0 && shown.length === 0 && <p class="pad-s muted fs-2">No layer has “{filter.value}” in its name.</p>}
        {more > 0 && <p class="pad-s muted fs-1">{formatCount(more)} more are not listed.</p>}
      </div>
    </>
  );
}

function Row({ at, layer, isChosen }: { at: number; layer: FeatureLayer; isChosen: boolean }) {
  return (
    <li
      id={`ft-layer-${at}`}
      role="option"
      aria-selected={isChosen}
      class={isChosen ? "tree-row cursor" : "tree-row"}
      title={layer.label === "" ? layer.name : `${layer.name} · ${layer.label}`}
      onClick={() => store.chooseLayer(at)}
    >
      <span class="name clip ft-name">
        <bdi>{layer.name}</bdi>
      </span>
      <span class="type clip">{shapeText(layer.shape)}</span>
    </li>
  );
}
