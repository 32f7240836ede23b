/** The page NetView with its analysis. */
import { AnalysisStage } from "./netanalysis/AnalysisStage";
import { ModeSwitch } from "./netanalysis/ModeSwitch";
import { ChoicePanel, ItemSection, LikenessPanel } from "./netanalysis/Panels";
import { isAnalysis, scope } from "./netanalysis/choice";
import { type Analysis, NetViewPage } from "./netview/NetViewPage";

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
