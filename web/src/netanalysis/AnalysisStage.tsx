/** What the layers make of the items: one kind of picture at a time, of one layer or of two beside each other. */
import type { FunctionComponent } from "preact";
import { useEffect } from "preact/hooks";
import { list } from "../netview/moments";
import { sentence } from "../netview/wording";
import { setParams } from "../route";
import { Blank } from "../shell/Blank";
import { Segments } from "../shell/Segments";
import { choice, first, isTable, sight, variable, type Sight } from "./choosing";
import { ClustersView } from "./ClustersView";
import { ComponentsView } from "./ComponentsView";
import { FieldView } from "./FieldView";
import { followItems, items, problem } from "./items";
import { ModeSwitch } from "./ModeSwitch";
import { SimilarityView } from "./SimilarityView";
import { TuningView } from "./TuningView";
import "./netanalysis.css";

const WORDS: readonly (readonly [Sight, string, string])[] = [
  ["similarity", "Similarity", "How alike a layer sees the items"],
  ["components", "Components", "The items along the directions in which a layer varies most"],
  ["clusters", "Clusters", "The items as a tree"],
  ["tuning", "Tuning", "Which label each unit responds to, and how selective it is"],
  ["field", "Receptive field", "What the input looks like when a unit responds"],
];

const VIEWS: Record<Sight, FunctionComponent> = {
  similarity: SimilarityView,
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
        <Segments label="Analysis" words={WORDS} chosen={sight.value} choose={(word) => setParams({ see: word === "similarity" ? null : word })} />
        <span class="grow" />
        <label class="check">
          <input type="checkbox" checked={isTable.value} onChange={(event) => setParams({ table: event.currentTarget.checked ? "yes" : null })} />
          Show as table
        </label>
      </div>
      <Body />
    </section>
  );
}

function Body() {
  const View = VIEWS[sight.value];
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
  return <View key={sight.value} />;
}
