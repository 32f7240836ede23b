/** Where the items lie along the directions in which a layer varies most. */
import { signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { formatValue } from "../format";
import { singlesOf, useAnalysis, type Analysed } from "./answers";
import { first, isTable, second } from "./choosing";
import { Figure } from "./Figure";
import { items } from "./items";
import { ItemTable } from "./ItemTable";
import { Legend } from "./Legend";
import { ReadingLine } from "./ReadingLine";
import { Scatter } from "./Scatter";

const NUM_COMPONENTS = 6;

const axes = signal<readonly [number, number]>([0, 1]);

interface Placed {
  readonly places: readonly number[];
  readonly columns: readonly Float32Array[];
}

export function ComponentsView() {
  const asked = [
    useAnalysis("net_components", first.value, { num_components: NUM_COMPONENTS }),
    useAnalysis("net_components", second.value, { num_components: NUM_COMPONENTS }),
  ];
  const placed = [usePlaced(asked[0]!.value), usePlaced(asked[1]!.value)];
  const all = items.value;
  return (
    <>
      <div class="an-figures">
        {[first.value, second.value].map((layer, at) => {
          const { value, problem, retry } = asked[at]!;
          const its = placed[at] ?? null;
          if (layer === null) return null;
          const isIts = value?.layer.name === layer.name;
          return (
            <Figure
              key={at}
              layer={layer}
              problem={problem}
              retry={retry}
              isReady={isIts && its !== null}
              isOld={isIts && value.items !== all}
              note={value?.head.note ?? ""}
              facts={value !== null && <Shares shares={value.head.shares} />}
            >
              {value !== null && its !== null && <Picture value={value} its={its} />}
            </Figure>
          );
        })}
      </div>
      <ReadingLine />
      <div class="an-below">
        <div class="an-axes">
          <AxisChoice name="Across" which={0} />
          <AxisChoice name="Up" which={1} />
        </div>
        {all !== null && <Legend items={all} />}
      </div>
    </>
  );
}

function Picture({ value, its }: { value: Analysed<"net_components">; its: Placed }) {
  const { shares } = value.head;
  if (isTable.value) {
    const columns = its.columns.map((values, at) => ({ title: `Component ${at + 1}`, values }));
    return <ItemTable items={value.items} places={its.places} columns={columns} />;
  }
  const [across, up] = axes.value;
  const none = new Float32Array(its.places.length);
  const title = (at: number): string =>
    at < shares.length ? `Component ${at + 1}: ${percent(shares[at]!)}` : `Component ${at + 1}: nothing varies`;
  return (
    <Scatter
      points={{ places: its.places, x: its.columns[across] ?? none, y: its.columns[up] ?? none }}
      items={value.items}
      xTitle={title(across)}
      yTitle={title(up)}
      summary={`${its.places.length} items of ${value.layer.name} along ${title(across)} and ${title(up)} of the variance. Arrows move, Enter shows the item in the network.`}
    />
  );
}

function usePlaced(value: Analysed<"net_components"> | null): Placed | null {
  return useMemo(() => {
    if (value === null) return null;
    const { places, shares } = value.head;
    const numbers = singlesOf(value.bytes, places.length * shares.length);
    const columns = shares.map((_, column) => Float32Array.from(places, (_place, row) => numbers[row * shares.length + column]!));
    return { places, columns };
  }, [value]);
}

export function percent(share: number): string {
  return `${formatValue(100 * share, 3)} %`;
}

/** How much of the variance each component takes, as small bars. */
function Shares({ shares }: { shares: readonly number[] }) {
  if (shares.length === 0) return <span class="muted">All items are the same to this layer.</span>;
  const sum = shares.reduce((total, share) => total + share, 0);
  return (
    <span class="an-shares" title={shares.map((share, at) => `${at + 1}: ${percent(share)}`).join("\n")}>
      <span class="muted">Share of the variance</span>
      <svg width={shares.length * 12} height={18} aria-hidden="true">
        {shares.map((share, at) => (
          <rect key={at} x={at * 12} y={17 - 16 * share} width={9} height={16 * share + 1} fill="var(--text-2)" />
        ))}
      </svg>
      <span>
        {shares.length === 1 ? "one" : `first ${shares.length}`}: {percent(sum)}
      </span>
    </span>
  );
}

function AxisChoice({ name, which }: { name: string; which: 0 | 1 }) {
  return (
    <label class="an-axis">
      <span class="muted">{name}</span>
      <select
        class="input sm"
        value={String(axes.value[which])}
        onChange={(event) => {
          const next = Number(event.currentTarget.value);
          const [x, y] = axes.peek();
          axes.value = which === 0 ? [next, y] : [x, next];
        }}
      >
        {Array.from({ length: NUM_COMPONENTS }, (_, at) => (
          <option key={at} value={String(at)}>
            Component {at + 1}
          </option>
        ))}
      </select>
    </label>
  );
}
