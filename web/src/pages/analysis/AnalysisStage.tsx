/** What the layers make of the items: one kind of picture at a time, of one layer or of two beside each other. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { formatCount, formatNumberOf } from "../../data/format";
import { list } from "../../data/network/moments";
import * as net from "../../data/network/store";
import { sentence, weightVariable } from "../../data/network/words";
import { param, setParams } from "../../data/route";
import { source } from "../../data/store";
import { Pixels } from "../../ui/Pixels";
import { pictureLayer, useItemPicture } from "../../stage3d/network/item-pictures";
import { Blank, Hint } from "../../ui/Blank";
import { PanelHead } from "../../ui/PanelHead";
import { type Select, SelectField } from "../../ui/Select";
import { Segments } from "../../ui/controls";
import { TableCheck } from "./Figure";
import { ClustersView, ComponentsView, FieldView, TuningView } from "./ItemViews";
import { ItemSimilarity } from "./Similarity";
import { choice, current, describe, first, followItems, goToItem, isAnalysis, items, type Items, problem, sight, variable } from "./network";
import * as network from "./network";
import "./analysis.css";

const VIEWS = {
  similarity: ItemSimilarity,
  components: ComponentsView,
  clusters: ClustersView,
  tuning: TuningView,
  field: FieldView,
};

export function AnalysisStage() {
  useEffect(followItems, []);
  return (
    <section class="an-stage" aria-label="Analysis">
      <div class="an-bar" role="toolbar" aria-label="Analysis">
        <ModeSwitch />
        <span class="sep" />
        <Segments label="Analysis" {...sight} />
        <span class="grow" />
        <TableCheck />
      </div>
      <Body />
    </section>
  );
}

function Body() {
  if (first.value === null) {
    return (
      <Blank icon="only" title={`No layer has ${variable.value}`}>
        <span>Choose another variable at the left.</span>
      </Blank>
    );
  }
  if (items.value === null && problem.value !== "") {
    return (
      <Blank icon="warning" title="There are no items to compare" isError>
        <span>{sentence(problem.value)}</span>
      </Blank>
    );
  }
  // Until the server has said which moments there are, nobody knows that there is none.
  if (choice.value === null) return list.value === null ? null : <Blank icon="only" title="No moment was recorded yet" />;
  const View = VIEWS[sight.chosen];
  return <View key={sight.chosen} />;
}

/** Between the network and what its layers make of the items. */
export function ModeSwitch() {
  // A page that is one file has nobody to ask.
  if (source.value?.connection.value.state === "one-file") return null;
  return (
    <Segments
      label="Shown"
      words={[
        ["network", "Network"],
        ["analysis", "Analysis", "Similarity, components, clusters, tuning and receptive fields of the layers"],
      ]}
      chosen={isAnalysis.value ? "analysis" : "network"}
      choose={(word) => setParams({ show: word === "analysis" ? "analysis" : null })}
    />
  );
}

/** Beside the pictures: which items with which labels, which layers, and the item that is looked at. */
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
      <PanelHead title={title} look={remark === undefined ? "rule-t" : ""}>
        <span class="muted fs-1">{remark}</span>
      </PanelHead>
      <div class="pad an-choices">{children}</div>
    </>
  );
}

type Options = Parameters<typeof Select>[0]["options"];

function Choice(props: Omit<Parameters<typeof SelectField>[0], "style">) {
  return <SelectField style="an-choice" {...props} />;
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
  if (network.problem.value !== "") return <Hint text={sentence(network.problem.value)} />;
  if (items.value === null) return <i class="skeleton late" style={{ width: "140px", animationDelay: "400ms" }} />;
  return note === "" ? null : <p class="muted fs-1">{sentence(note)}</p>;
}

/** The item that was pointed at last: what the network received, and the way to it. */
export function ItemSection() {
  const all = items.value;
  const last = useRef<number | null>(null);
  const place = (last.current = current.value ?? last.current);
  if (all === null || place === null || place >= all.steps.length) return null;
  return (
    <section class="rule-t" aria-label="Item">
      <PanelHead title="Item">
        <button class="btn quiet sm" onClick={() => goToItem(all, place)}>
          Show in network
        </button>
      </PanelHead>
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
