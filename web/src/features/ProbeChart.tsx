/** A row for each layer: the folds as points, their mean, and chance as a line. */
import { useRef } from "preact/hooks";
import { linearTicks, niceSpan } from "../charting/numberticks";
import { formatTicks } from "../charting/tickwords";
import { useSize } from "../netanalysis/useSize";
import type { FeatureProbe } from "../wire";
import * as store from "./store";

const ROW = 28;

interface ChartProps {
  probes: ReadonlyMap<number, FeatureProbe>;
  layers: readonly number[];
  /** The one that is being probed. */
  at: number | null;
}

/** Where scores stand: from nought, with chance, up to the best; or as far as scores reach, and no further. */
export function spanOf(probes: Iterable<FeatureProbe>, isZoomed: boolean): { low: number; high: number } {
  const found = [...probes].flatMap(({ scores, chance, metric }) => {
    // A score far below nought says no more than that there is nothing.
    const there = scores.filter((score) => score !== null).map((score) => Math.max(-0.5, score));
    return isZoomed ? there : [...there, chance ?? 0, 0, ...(metric === "accuracy" ? [1] : [])];
  });
  if (found.length === 0) return { low: 0, high: 1 };
  const span = niceSpan({ low: Math.min(...found), high: Math.max(...found) });
  return span.high > span.low ? span : { low: span.low, high: span.low + 1 };
}

export function ProbeChart({ probes, layers, at }: ChartProps) {
  const [box, room] = useSize<HTMLDivElement>();
  const list = useRef<HTMLUListElement>(null);
  const span = spanOf(probes.values(), store.isZoomed.value);
  const ticks = linearTicks(span, room.width < 320 ? 3 : 5);
  const texts = formatTicks(ticks);
  const place = (score: number): string => `${(100 * (Math.max(span.low, score) - span.low)) / (span.high - span.low)}%`;
  const known = [...probes.values()].find((one) => one.chance !== null)?.chance ?? null;
  const chance = known !== null && known >= span.low && known <= span.high ? known : null;
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = { ArrowDown: 1, ArrowUp: -1, Home: -layers.length, End: layers.length }[event.key];
    if (event.key === "Enter") store.chooseSight("values");
    else if (by !== undefined) {
      const now = layers.indexOf(store.layerAt.peek());
      const next = Math.max(0, Math.min(layers.length - 1, now + by));
      store.chooseLayer(layers[next]!);
      list.current?.children[next]?.scrollIntoView({ block: "nearest" });
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="ft-chart" ref={box}>
      <div class="ft-chart-axis" aria-hidden="true">
        <span />
        <span class="ft-track">
          {ticks.map((tick, one) => (
            <span key={tick} style={{ left: place(tick) }}>
              {texts[one]}
            </span>
          ))}
        </span>
        <span class="num">mean ± std</span>
      </div>
      <ul ref={list} role="listbox" aria-label="Layers by score" tabIndex={0} onKeyDown={onKeyDown} aria-activedescendant={`ft-probe-${store.layerAt.value}`}>
        {layers.map((layer) => (
          <Row key={layer} layer={layer} probe={probes.get(layer)} isRunning={layer === at} {...{ ticks, place, chance }} />
        ))}
      </ul>
      {known !== null && (
        <p class="ft-key muted fs-1">
          <span>
            <i class="ft-dot mean" /> mean of the folds
          </span>
          <span>
            <i class="ft-dot fold" /> one fold
          </span>
          <span>
            <i class="ft-dash" /> chance, {threeDigits(known)}
          </span>
        </p>
      )}
    </div>
  );
}

interface RowProps {
  layer: number;
  probe: FeatureProbe | undefined;
  isRunning: boolean;
  ticks: readonly number[];
  place: (score: number) => string;
  chance: number | null;
}

function Row({ layer, probe, isRunning, ticks, place, chance }: RowProps) {
  const name = store.layers.value[layer]?.name ?? "";
  const said = saidOf(probe);
  const state = stateOf(probe, isRunning);
  return (
    <li
      id={`ft-probe-${layer}`}
      role="option"
      aria-selected={layer === store.layerAt.value}
      aria-label={`${name}: ${said === "" ? state : said}`}
      style={{ height: `${ROW}px` }}
      onClick={() => store.chooseLayer(layer)}
    >
      <span class="clip ft-name" title={name}>
        <bdi>{name}</bdi>
      </span>
      <span class="ft-track" aria-hidden="true">
        {ticks.map((tick) => (
          <i key={tick} class="ft-tick" style={{ left: place(tick) }} />
        ))}
        {chance !== null && <i class="ft-chance" style={{ left: place(chance) }} />}
        {probe !== undefined && said !== "" && <Scores probe={probe} place={place} />}
        {probe !== undefined && said === "" && (
          <span class="ft-state hint" title={state}>
            {state}
          </span>
        )}
      </span>
      <span class={said === "" ? "num muted" : "num"}>{probe === undefined ? state : said}</span>
    </li>
  );
}

/** Empty where there is no score. */
function saidOf(probe: FeatureProbe | undefined): string {
  return probe?.mean == null ? "" : `${threeDigits(probe.mean)} ± ${threeDigits(probe.std ?? 0)}`;
}

function stateOf(probe: FeatureProbe | undefined, isRunning: boolean): string {
  if (probe !== undefined) return probe.why;
  return isRunning ? "being probed" : "waiting";
}

function Scores({ probe, place }: { probe: FeatureProbe } & Pick<RowProps, "place">) {
  const there = probe.scores.filter((score) => score !== null);
  return (
    <>
      <i class="ft-spread" style={{ left: place(Math.min(...there)), right: `calc(100% - ${place(Math.max(...there))})` }} />
      {there.map((score, at) => (
        <i key={at} class="ft-dot fold" style={{ left: place(score) }} />
      ))}
      <i class="ft-dot mean" style={{ left: place(probe.mean ?? 0) }} />
    </>
  );
}

function threeDigits(value: number): string {
  return value.toFixed(3).replace("-", "\u2212");
}
