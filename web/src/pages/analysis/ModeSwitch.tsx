/** Between the network and what its layers make of the items. */
import { source } from "../../data/store";
import { Segments } from "../../ui/controls";
import { isAnalysis, setAnalysis } from "./choice";

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
      choose={(word) => setAnalysis(word === "analysis")}
    />
  );
}
