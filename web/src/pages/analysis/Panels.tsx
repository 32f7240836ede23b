/** What is analysed: which items with which labels, and which layers. */
import { useEffect, useState } from "preact/hooks";
import { formatCount, formatNumberOf, formatValue } from "../../data/format";
import { rank, runId } from "../../data/network/moments";
import * as net from "../../data/network/store";
import { sentence, weightVariable } from "../../data/network/words";
import { askOf } from "../../data/requests";
import { param, setParams } from "../../data/route";
import { useAsked } from "../../data/useAsked";
import { CellTable, hundredths, likenessCell } from "../../plot/CellTable";
import { ColourScale } from "../../plot/ColourScale";
import { Pixels } from "../../plot/Pixels";
import { pictureLayer, useItemPicture } from "../../stage3d/network/item-pictures";
import { Select } from "../../ui/Select";
import type { Scale } from "../../ui/colour-scale";
import { Segments } from "../../ui/controls";
import type { NetLikenessAnswer } from "../../wire";
import { describe, goToItem, LeftOut, MetricChoice } from "./Figure";
import {
  chosenScale,
  current,
  first,
  layers,
  metric,
  most,
  MOSTS,
  NO_LABELS,
  order,
  type Order,
  ORDERS,
  scope,
  type Scope,
  second,
  sight,
  source,
  variable,
} from "./choice";
import { items, type Items, numAwaited, problem, singlesOf } from "./items";

const SCOPE_WORDS: readonly (readonly [Scope, string, string])[] = [
  ["batch", "Batch", "The items of the batch at this moment"],
  ["moments", "Moments", "One item of the batch at every moment up to this one"],
  ["all", "All", "All items of the batch at every moment up to this one"],
];
const ORDER_WORDS: Record<Order, string> = { label: "Label", tree: "Cluster", item: "Item" };

export function ChoicePanel() {
  const isOfPairs = sight.value === "similarity" || sight.value === "clusters";
  return (
    <>
      <div class="panel-head">
        <h2>Items</h2>
        <span class="grow" />
        <span class="muted fs-1">{items.value !== null && formatNumberOf(items.value.steps.length, "item")}</span>
      </div>
      <div class="pad an-choices">
        <Segments label="Items" words={SCOPE_WORDS} chosen={scope.value} choose={(word) => setParams({ scope: word })} isWide />
        <Choice name="Labels" value={labelsChosen()} set={(key) => setParams({ labels: key })} options={labelOptions()} />
        <Choice name="Variable" value={variable.value} set={(name) => (net.variable.value = name)} options={variableOptions()} />
        <Choice
          name="At most"
          value={String(most.value)}
          set={(count) => setParams({ most: count === "256" ? null : count })}
          options={MOSTS.map((count) => [String(count), `${formatCount(count)} items`])}
        />
        <Notes />
      </div>
      <div class="panel-head rule-t">
        <h2>Layers</h2>
      </div>
      <div class="pad an-choices">
        <Choice name="Layer" value={first.value?.name ?? ""} set={(name) => setParams({ one: name })} options={layerOptions()} />
        <Choice name="Beside it" value={second.value?.name ?? ""} set={(name) => setParams({ two: name === "" ? null : name })} options={[["", "None"], ...layerOptions()]} />
        {sight.value === "field" && (
          <Choice name="Field over" value={source.value?.name ?? ""} set={(name) => setParams({ source: name })} options={sourceOptions()} />
        )}
      </div>
      {isOfPairs && (
        <>
          <div class="panel-head rule-t">
            <h2>Likeness of items</h2>
          </div>
          <div class="pad an-choices">
            <MetricChoice param="metric" chosen={metric.value} isWide />
            {sight.value === "similarity" && (
              <>
                <span class="muted fs-1">Sorted by</span>
                <Segments label="Sorted by" words={ORDERS.map((one) => [one, ORDER_WORDS[one]] as const)} chosen={order.value} choose={(one) => setParams({ order: one === "label" ? null : one })} isWide />
              </>
            )}
          </div>
        </>
      )}
    </>
  );
}

type Options = readonly (readonly [value: string, title: string])[];

function Choice({ name, ...rest }: { name: string; value: string; set: (value: string) => void; options: Options }) {
  return (
    <label class="an-choice">
      <span>{name}</span>
      <Select {...rest} />
    </label>
  );
}

function labelsChosen(): string {
  const named = param("labels");
  if (named !== "") return named;
  return items.value === null || items.value.choice.labels === "" ? NO_LABELS : items.value.choice.labels;
}

function labelOptions(): Options {
  const offered = (items.value?.label_choices ?? []).map(({ key, name, about }) => [key, `${name} (${about})`] as const);
  const named = param("labels");
  const isMissing = named !== "" && named !== NO_LABELS && !offered.some(([key]) => key === named);
  return [[NO_LABELS, "None"], ...offered, ...(isMissing ? ([[named, named.replace(/^\w+:/, "")]] as const) : [])];
}

function variableOptions(): Options {
  const names = net.variables.value.filter(({ name }) => weightVariable(name) === null).map(({ name }) => name);
  return names.map((name) => [name, name]);
}

function layerOptions(): Options {
  return [...layers.value].reverse().map(({ name, grid }) => [name, `${name} (${formatCount(grid.num_units)})`]);
}

function sourceOptions(): Options {
  const all = (net.scene.value?.layers ?? []).filter(({ variables }) => variables.includes("Act"));
  return all.map(({ name, is_input }) => [name, is_input ? `${name} (input)` : name]);
}

function Notes() {
  const all = items.value;
  const [isLate, setIsLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setIsLate(true), 400);
    return () => clearTimeout(timer);
  }, []);
  if (problem.value !== "") {
    return (
      <p class="hint" role="alert">
        {sentence(problem.value)}
      </p>
    );
  }
  if (all === null) return isLate ? <i class="skeleton" style={{ width: "140px" }} /> : null;
  if (all.note !== "") return <p class="muted fs-1">{sentence(all.note)}</p>;
  return null;
}

// --- The item that was pointed at last: what the network received, and the way to it.

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
  const layer = pictureLayer(net.scene.value?.layers ?? []);
  const picture = useItemPicture(layer, all.steps[place]!, all.items[place]!);
  return picture === null ? null : <Pixels picture={picture} role="img" aria-label={`${describe(all, place)}, as ${layer?.name ?? "the input"} received it`} />;
}

// --- How alike layers see the items: each against each, and how much labels count in each of them.

const MOST_LAYERS = 64;
/** Numbers can be read in cells of this many layers. */
const MOST_NUMBERS = 5;
const USUAL: Scale = { map: "div", low: -1, high: 1 };

interface Likeness {
  readonly head: NetLikenessAnswer;
  readonly values: Float32Array;
  readonly items: unknown;
}

export function LikenessPanel() {
  const all = items.value;
  const names = layers.value.slice(-MOST_LAYERS).map(({ name }) => name);
  const kind = metric.value;
  // After the main pictures: it takes longer than they do.
  const isWanted = all !== null && names.length > 1 && numAwaited.value === 0;
  const { value, problem, retry } = useAsked<Likeness>(
    isWanted
      ? {
          key: JSON.stringify([all.runId, rank.value, all.choice, names, kind]),
          version: "",
          ask: async () => {
            const asked = { run_id: runId.peek(), rank: rank.peek(), choice: all.choice, layers: names, metric: kind };
            const reply = await askOf({ type: "net_likeness", ...asked }, "net_likeness");
            return { head: reply.answer, values: singlesOf(reply, names.length ** 2), items: all };
          },
        }
      : null,
  );
  if (names.length < 2) return null;
  return (
    <section class="an-likeness" aria-label="Layers compared" aria-busy={value?.items !== all && problem === ""}>
      <div class="panel-head">
        <h2>Layers compared</h2>
        <span class="grow" />
        {layers.value.length > MOST_LAYERS && <span class="muted fs-1">the last {MOST_LAYERS}</span>}
      </div>
      <div class="pad">
        {problem !== "" && (
          <p class="hint" role="alert">
            {problem}{" "}
            <button class="link" onClick={retry}>
              Try again
            </button>
          </p>
        )}
        {value === null && problem === "" && <i class="skeleton late" style={{ height: "160px" }} />}
        {value !== null && <Layers likeness={value} />}
      </div>
    </section>
  );
}

function Layers({ likeness: { head, values } }: { likeness: Likeness }) {
  const names = head.layers.map(({ layer }) => layer);
  const scale = chosenScale("likeness", null, USUAL);
  const hasLabels = head.layers.some(({ contrast }) => contrast !== null);
  const left = head.layers.filter(({ why }) => why !== "");
  return (
    <>
      <p class="muted fs-1">Rank correlation of how two layers order all pairs of items. Click a cell to see both.</p>
      <CellTable
        label="Rank correlation of layers"
        rows={names}
        titleOf={(row) => (head.layers[row]!.why === "" ? names[row]! : `${names[row]}: ${head.layers[row]!.why}`)}
        isOn={(at) => names[at] === first.value?.name || names[at] === second.value?.name}
        hasNumbers={names.length <= MOST_NUMBERS}
        cell={likenessCell(names, values, scale.scale)}
        onChoose={(row, column) => setParams({ one: names[row]!, two: row === column ? null : names[column]! })}
        after={(row) => hasLabels && <td class="contrast">{short(head.layers[row]!.contrast?.contrast ?? null)}</td>}
      />
      {hasLabels && <p class="muted fs-1 an-right">last column: contrast of labels</p>}
      <ColourScale {...scale} />
      <LeftOut of={left.map(({ layer, why }) => [layer, why])} />
    </>
  );
}

function short(value: number | null): string {
  if (value === null) return "";
  return Math.abs(value) < 100 ? hundredths(value) : formatValue(value, 2);
}
