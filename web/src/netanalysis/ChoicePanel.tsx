/** What is analysed: which items with which labels, and which layers. */
import { useEffect, useState } from "preact/hooks";
import { formatCount, formatNumberOf } from "../format";
import * as net from "../netview/store";
import { sentence, weightVariable } from "../netview/wording";
import { param, setParams } from "../route";
import { Segments } from "../shell/Segments";
import { first, layers, metric, METRICS, most, MOSTS, NO_LABELS, order, ORDERS, scope, second, sight, source, variable, type Metric, type Order, type Scope } from "./choosing";
import { items, problem } from "./items";

const SCOPE_WORDS: readonly (readonly [Scope, string, string])[] = [
  ["batch", "Batch", "The items of the batch at this moment"],
  ["moments", "Moments", "One item of the batch at every moment up to this one"],
  ["all", "All", "All items of the batch at every moment up to this one"],
];
const METRIC_WORDS: Record<Metric, string> = { correlation: "Correlation", cosine: "Cosine", euclidean: "Distance" };
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
            <Segments label="Metric" words={METRICS.map((one) => [one, METRIC_WORDS[one]] as const)} chosen={metric.value} choose={(one) => setParams({ metric: one === "correlation" ? null : one })} isWide />
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

function Choice({ name, value, set, options }: { name: string; value: string; set: (value: string) => void; options: Options }) {
  return (
    <label class="an-choice">
      <span>{name}</span>
      <select class="input" value={value} onChange={(event) => set(event.currentTarget.value)}>
        {options.map(([key, title]) => (
          <option key={key} value={key}>
            {title}
          </option>
        ))}
      </select>
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
