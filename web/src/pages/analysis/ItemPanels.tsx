/** Beside the pictures of a network: which items with which labels, which layers, and the item that is looked at. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { formatCount, formatNumberOf } from "../../data/format";
import * as net from "../../data/network/store";
import { sentence, weightVariable } from "../../data/network/words";
import { param, setParams } from "../../data/route";
import { Pixels } from "../../ui/Pixels";
import { pictureLayer, useItemPicture } from "../../stage3d/network/item-pictures";
import { Select } from "../../ui/Select";
import { Segments } from "../../ui/controls";
import * as network from "./network";
import { current, describe, goToItem, items, type Items } from "./network";

export function ChoicePanel() {
  const seen = network.sight.chosen;
  const allLayers = [...network.layers.value].reverse().map(({ name, grid }) => [name, `${name} (${formatCount(grid.num_units)})`] as const);
  return (
    <>
      <Part title="Items" remark={items.value !== null && formatNumberOf(items.value.steps.length, "item")}>
        <Segments label="Items" words={network.SCOPES} chosen={network.scope.value} choose={(word) => setParams({ scope: word })} isWide />
        <Choice name="Labels" value={labelsChosen()} set={(key) => setParams({ labels: key })} options={labelOptions()} />
        <Choice name="Variable" value={network.variable.value} set={(name) => (net.variable.value = name)} options={variableOptions()} />
        <Choice
          name="At most"
          value={String(network.most.chosen)}
          set={(count) => network.most.choose(Number(count))}
          options={network.most.words.map(([count, text]) => [String(count), text])}
        />
        <Notes />
      </Part>
      <Part title="Layers">
        <Choice name="Layer" value={network.first.value?.name ?? ""} set={(name) => setParams({ one: name })} options={allLayers} />
        <Choice name="Beside it" value={network.second.value?.name ?? ""} set={(name) => setParams({ two: name === "" ? null : name })} options={[["", "None"], ...allLayers]} />
        {seen === "field" && (
          <Choice name="Field over" value={network.fieldSource.value?.name ?? ""} set={(name) => setParams({ source: name })} options={sourceOptions()} />
        )}
      </Part>
      {(seen === "similarity" || seen === "clusters") && (
        <Part title="Likeness of items">
          <Segments label="Metric" {...network.metric} isWide />
          {seen === "similarity" && (
            <>
              <span class="muted fs-1">Sorted by</span>
              <Segments label="Sorted by" {...network.order} isWide />
            </>
          )}
        </Part>
      )}
    </>
  );
}

function Part({ title, remark, children }: { title: string; remark?: ComponentChildren; children: ComponentChildren }) {
  return (
    <>
      <div class={remark === undefined ? "panel-head rule-t" : "panel-head"}>
        <h2>{title}</h2>
        <span class="grow" />
        <span class="muted fs-1">{remark}</span>
      </div>
      <div class="pad an-choices">{children}</div>
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
  const taken = items.value?.choice.labels ?? "";
  return param("labels") || taken || network.NO_LABELS;
}

function labelOptions(): Options {
  const offered = (items.value?.label_choices ?? []).map(({ key, name, about }) => [key, `${name} (${about})`] as const);
  const named = param("labels");
  const isMissing = named !== "" && named !== network.NO_LABELS && !offered.some(([key]) => key === named);
  return [[network.NO_LABELS, "None"], ...offered, ...(isMissing ? ([[named, named.replace(/^\w+:/, "")]] as const) : [])];
}

function variableOptions(): Options {
  return net.variables.value.filter(({ name }) => weightVariable(name) === null).map(({ name }) => [name, name]);
}

function sourceOptions(): Options {
  return network.layersWith("Act").map(({ name, is_input }) => [name, is_input ? `${name} (input)` : name]);
}

function Notes() {
  const note = items.value?.note ?? "";
  if (network.problem.value !== "") {
    return (
      <p class="hint" role="alert">
        {sentence(network.problem.value)}
      </p>
    );
  }
  if (items.value === null) return <i class="skeleton late" style={{ width: "140px", animationDelay: "400ms" }} />;
  return note === "" ? null : <p class="muted fs-1">{sentence(note)}</p>;
}

/** The item that was pointed at last: what the network received, and the way to it. */
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
