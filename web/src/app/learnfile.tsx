/** The page that is one file and shows an expression, taken apart: its lesson stands in it. */
import { EmbeddedLesson, readLesson, startEmbedded } from "../data/embedded";
import { startSession } from "../data/session";
import { LearnPage } from "../pages/learn/LearnPage";
import { catalogue, showLesson } from "../pages/learn/store";
import { showOnly, UnreadablePage } from "./OneView";
import { start } from "./start";
import "../ui/theme/runs.css";

function begin(json: string): void {
  const lesson = readLesson(json);
  showOnly("learn");
  showLesson(lesson);
  catalogue.value = { examples: [], exercises: [], functions: [] };
  startSession(new EmbeddedLesson());
}

start({ graph: UnreadablePage, learn: LearnPage }, () => startEmbedded("torcheer-lesson", "tensor.explain(path)", begin));
