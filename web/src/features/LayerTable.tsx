/** All layers with what is to be known of each: shape, type, size, what was done to its values. */
import { useRef } from "preact/hooks";
import { formatBytes, formatCount, formatNumberOf } from "../format";
import { useRowsInView } from "../runs/useRowsInView";
import { Blank } from "../shell/Blank";
import type { FeatureLayer } from "../wire";
import { filter, filtered } from "./LayerList";
import * as store from "./store";
import { dimsText, shapeText } from "./wording";

const ROW_HEIGHT = 36;
const HEAD_HEIGHT = 28;

export function LayerTable() {
  const all = store.layers.value;
  const shown = filtered(all, filter.value);
  const box = useRef<HTMLDivElement>(null);
  const { first, end, reveal } = useRowsInView(box, shown.length, ROW_HEIGHT, HEAD_HEIGHT);
  if (all.length === 0) {
    return (
      <Blank icon="tree" title="This set has no layers">
        <span>Name some when you extract it: layers=["features.6"].</span>
      </Blank>
    );
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const place = shown.indexOf(store.layerAt.peek());
    const by = { ArrowDown: 1, ArrowUp: -1, Home: -shown.length, End: shown.length }[event.key];
    if (event.key === "Enter") store.chooseSight("values");
    else if (by !== undefined) {
      const next = Math.max(0, Math.min(shown.length - 1, place + by));
      store.chooseLayer(shown[next]!);
      reveal(next);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const total = all.reduce((sum, { num_bytes: bytes }) => sum + bytes, 0);
  return (
    <>
      <div class="ft-scroll" ref={box}>
        <table class="table ft-table" aria-label="Layers" aria-rowcount={shown.length + 1} tabIndex={0} onKeyDown={onKeyDown}>
          <thead>
            <tr>
              <th scope="col">Layer</th>
              <th scope="col">Op</th>
              <th scope="col" class="num">
                Shape of a sample
              </th>
              <th scope="col" class="num">
                Units
              </th>
              <th scope="col">Type</th>
              <th scope="col" class="num">
                Size
              </th>
              <th scope="col">Transforms</th>
            </tr>
          </thead>
          <tbody>
            {first > 0 && <tr class="gap" style={{ height: `${first * ROW_HEIGHT}px` }} />}
            {shown.slice(first, end).map((at) => (
              <Row key={at} at={at} layer={all[at]!} />
            ))}
            {end < shown.length && <tr class="gap" style={{ height: `${(shown.length - end) * ROW_HEIGHT}px` }} />}
          </tbody>
        </table>
      </div>
      <p class="foot">
        <span>
          {formatNumberOf(all.length, "layer")}, {formatBytes(total)} of values in all
          {shown.length < all.length && `; the filter leaves ${formatCount(shown.length)}`}
        </span>
        <span class="grow" />
        <span class="foot-keys" aria-hidden="true">
          <span>
            <kbd>↑</kbd> <kbd>↓</kbd> move
          </span>
          <span>
            <kbd>↵</kbd> values
          </span>
        </span>
      </p>
    </>
  );
}

function Row({ at, layer }: { at: number; layer: FeatureLayer }) {
  const isChosen = at === store.layerAt.value;
  return (
    <tr
      aria-rowindex={at + 2}
      aria-selected={isChosen}
      onClick={() => store.chooseLayer(at)}
      onDblClick={() => store.chooseLayer(at, { see: "values" })}
    >
      <th scope="row" class="clip" title={layer.name}>
        {layer.name}
      </th>
      <td class="text clip" title={layer.address === "" ? layer.label : `${layer.label}, output of ${layer.address}`}>
        {layer.label}
      </td>
      <td title={dimsText(layer)}>{shapeText(layer.shape)}</td>
      <td>{layer.num_units === 0 ? <span class="muted">varies</span> : formatCount(layer.num_units)}</td>
      <td class="text">{layer.dtype}</td>
      <td>{formatBytes(layer.num_bytes)}</td>
      <td class="text clip" title={layer.transforms.join(", ")}>
        {layer.transforms.length === 0 ? <span class="muted">none</span> : layer.transforms.join(", ")}
      </td>
    </tr>
  );
}
