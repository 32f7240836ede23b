/** The page that a server sends: passes and runs, from its socket. */
import { ControlPage } from "./control/ControlPage";
import { ControlsPart } from "./control/ControlsPart";
import { startControls } from "./control/store";
import { FeatureSetsPart } from "./features/FeatureSetsPart";
import { FeaturesPage } from "./features/FeaturesPage";
import { startFeatures } from "./features/store";
import { LearnPage } from "./learn/LearnPage";
import { NetPage } from "./net-page";
import { ParametersPage } from "./parameters/ParametersPage";
import { ProjectorPage } from "./projector/ProjectorPage";
import { RunsPage } from "./runs/RunsPage";
import { startRuns } from "./runs/store";
import { startSession } from "./session";
import { GraphPage } from "./shell/GraphPage";
import { pageWiring, SocketSource } from "./source/socket";
import { start } from "./starting";
import { TensorsPage } from "./tensors/TensorsPage";
import { TrainingPage } from "./training/TrainingPage";
import { LayersPage } from "./watching/LayersPage";
import "./theme/runs.css";

function RunsStart() {
  return <RunsPage ControlsPart={ControlsPart} FeatureSetsPart={FeatureSetsPart} />;
}

const PAGES = {
  runs: RunsStart,
  graph: GraphPage,
  netview: NetPage,
  control: ControlPage,
  training: TrainingPage,
  layers: LayersPage,
  tensors: TensorsPage,
  projector: ProjectorPage,
  parameters: ParametersPage,
  features: FeaturesPage,
  learn: LearnPage,
};

start(PAGES, () => {
  const source = new SocketSource(pageWiring());
  startSession(source);
  startRuns(source);
  startControls(source);
  startFeatures(source);
});
