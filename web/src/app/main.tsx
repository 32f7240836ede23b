/**
 * The page that a server sends: passes and runs, from its socket.
 *
 * The order of these imports is that in which styles follow each other.
 */
import { ControlPage } from "../pages/control/ControlPage";
import { ControlsPart } from "../pages/control/listings";
import { FeaturesPage } from "../pages/analysis/FeaturesPage";
import { startFeatures } from "../pages/analysis/features";
import { LearnPage } from "../pages/learn/LearnPage";
import { NetPage } from "./NetPage";
import { FeatureSetsPart } from "../pages/analysis/FeatureSets";
import { ParametersPage } from "../pages/parameters/ParametersPage";
import { ProjectorPage } from "../pages/projector/ProjectorPage";
import { RunsPage } from "../pages/runs/RunsPage";
import { GraphPage } from "../pages/graph/GraphPage";
import { OverRun } from "../pages/graph/side-panel/OverRun";
import { startControls } from "../data/control";
import { startRuns } from "../data/runs";
import { startSession } from "../data/session";
import { pageWiring, SocketSource } from "../data/socket";
import { start } from "./start";
import { TensorsPage } from "../pages/tensors/TensorsPage";
import { ChartsPage } from "../pages/charts/ChartsPage";
import { LayersPage } from "../pages/layers/LayersPage";
import "../ui/theme/runs.css";

const PAGES = {
  runs: () => <RunsPage ControlsPart={ControlsPart} FeatureSetsPart={FeatureSetsPart} />,
  graph: () => <GraphPage OverRun={OverRun} />,
  netview: NetPage,
  control: ControlPage,
  training: ChartsPage,
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
