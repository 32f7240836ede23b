/** The layers from output to input: shown or hidden, alone, and what is to be known of their values. */
import { signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { formatCount, formatShape } from "../format";
import { FilterField } from "../runs/FilterField";
import { useRowsInView } from "../runs/useRowsInView";
import { Icon } from "../shell/Icon";
import type { NetLayer } from "../wire";
import { markOf, phase } from "./netstate";
import * as store from "./store";

const ROW_HEIGHT = 28;

const filter = signal("");

export function LayersPanel() {
  const all = [...(store.scene.value?.layers ?? [])].reverse();
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = all.filter(({ name, module }) => words.every((word) => `${name} ${module}`.toLowerCase().includes(word)));
  const box = useRef<HTMLDivElement>(null);
  const { first, end } = useRowsInView(box, shown.length, ROW_HEIGHT);
  const numHidden = all.length - store.shownLayers.value.length;
  return (
    <>
      <div class="panel-head rule-t">
        <h2>Layers</h2>
        <span class="muted fs-1 clip">{numHidden > 0 && `${formatCount(numHidden)} hidden`}</span>
        <span class="grow" />
        <button class="btn quiet sm" disabled={numHidden === 0} onClick={showAll}>
          Show all
        </button>
      </div>
      {all.length > 0 && (
        <div class="pad-s">
          <FilterField
            label="Filter layers"
            placeholder="Filter layers"
            value={filter.value}
            problem=""
            onChange={(text) => (filter.value = text)}
            onLeave={() => box.current?.querySelector("button")?.focus()}
          />
        </div>
      )}
      <div class="panel-body net-layers" ref={box}>
        {all.length === 0 && (phase.value === "waiting" ? <Skeleton /> : <p class="pad muted fs-2">None recorded</p>)}
        <ul
          aria-label="Layers, from output to input"
          style={{ height: `${shown.length * ROW_HEIGHT}px`, paddingTop: `${first * ROW_HEIGHT}px` }}
        >
          {shown.slice(first, end).map((layer) => (
            <LayerRow key={layer.name} layer={layer} />
          ))}
        </ul>
        {all.length > 0 && shown.length === 0 && <p class="pad-s muted fs-2">No layer has “{filter.value}” in its name.</p>}
      </div>
    </>
  );
}

function LayerRow({ layer }: { layer: NetLayer }) {
  const { name, shape, module } = layer;
  const isAlone = store.isolated.value === name;
  const isHidden = store.isolated.value === null ? store.hidden.value.has(name) : !isAlone;
  const about = [name, module, layer.note].filter((part) => part !== "").join(" · ");
  return (
    <li class={isHidden ? "hid" : undefined}>
      <button
        class="btn quiet square"
        aria-label={`${isHidden ? "Show" : "Hide"} ${name}`}
        onClick={() => setHidden(name, !isHidden)}
      >
        <Icon name={isHidden ? "eyeOff" : "eye"} />
      </button>
      <span class="grow clip layer-name" title={about}>
        <bdi>{name}</bdi>
      </span>
      <LayerMark layer={name} />
      <span class="muted shape">{formatShape(shape)}</span>
      <button
        class="btn quiet square"
        aria-label={`Isolate ${name}`}
        aria-pressed={isAlone}
        onClick={() => (store.isolated.value = isAlone ? null : name)}
      >
        <Icon name="only" />
      </button>
    </li>
  );
}

/** A word besides the hatch, so that it never hangs on a colour. */
function LayerMark({ layer }: { layer: string }) {
  const mark = markOf(layer);
  if (mark === null) return null;
  if (mark.kind === "missing") {
    return (
      <span class="layer-mark missing" title={mark.why}>
        none
      </span>
    );
  }
  const text = `step ${formatCount(mark.step)}`;
  return (
    <span class="layer-mark" title={`Not recorded at this moment: the values are those of ${text}.`}>
      {text}
    </span>
  );
}

/** From one layer alone, showing another one leads back to all that were shown, and to it. */
function setHidden(name: string, isHidden: boolean): void {
  store.isolated.value = null;
  const next = new Set(store.hidden.peek());
  if (isHidden) next.add(name);
  else next.delete(name);
  store.hidden.value = next;
}
function showAll(): void {
  store.isolated.value = null;
  store.hidden.value = new Set();
}

function Skeleton() {
  return (
    <div class="skeletons late" aria-hidden="true">
      {[140, 96, 120, 104].map((width) => (
        <i key={width} class="skeleton" style={{ width: `${width}px` }} />
      ))}
    </div>
  );
}
