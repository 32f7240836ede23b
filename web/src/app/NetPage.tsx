/** The page NetView with its analysis. */
import { AnalysisStage, ChoicePanel, ItemSection, ModeSwitch } from "../pages/analysis/AnalysisStage";
import { LikenessPanel } from "../pages/analysis/Similarity";
import { isAnalysis, scope } from "../pages/analysis/network";
import { type Analysis, NetViewPage } from "../pages/netview/NetViewPage";

const ANALYSIS: Analysis = {
  isShown: isAnalysis,
  scope,
  ModeSwitch,
  Stage: AnalysisStage,
  ChoicePanel,
  LikenessPanel,
  ItemSection,
};

export function NetPage() {
  return <NetViewPage analysis={ANALYSIS} />;
}
