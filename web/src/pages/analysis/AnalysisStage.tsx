/** What the layers make of the items: one kind of picture at a time, of one layer or of two beside each other. */
import { useEffect } from "preact/hooks";
import { list } from "../../data/network/moments";
import { sentence } from "../../data/network/words";
import { setParams } from "../../data/route";
import { source } from "../../data/store";
import { Blank } from "../../ui/Blank";
import { Segments } from "../../ui/controls";
import { TableCheck } from "./Figure";
import { ClustersView, ComponentsView, FieldView, TuningView } from "./ItemViews";
import { ItemSimilarity } from "./Similarity";
import { choice, first, followItems, isAnalysis, items, problem, sight, variable } from "./network";
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
