/** Between the network and what its layers make of the items. */
import { Segments } from "../shell/Segments";
import { isAnalysis, setAnalysis } from "./choosing";

export function ModeSwitch() {
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
