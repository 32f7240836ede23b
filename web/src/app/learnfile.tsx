/** The page that is one file and shows an expression, taken apart: its lesson stands in it. */
import { effect } from "@preact/signals";
import { EmbeddedLesson, readLesson, startEmbedded } from "../data/embedded";
import { go, nameView, route } from "../data/route";
import { startSession } from "../data/session";
import { LearnPage } from "../pages/learn/LearnPage";
import { catalogue, showLesson } from "../pages/learn/store";
import { UnreadablePage } from "./UnreadablePage";
import { start } from "./start";
import "../ui/theme/runs.css";

function begin(json: string): void {
  const lesson = readLesson(json);
  // There is one view, whatever the address says.
  nameView("learn");
  effect(() => {
    if (route.value.view !== "learn") go("learn");
  });
  showLesson(lesson);
  catalogue.value = { examples: [], exercises: [], functions: [] };
  startSession(new EmbeddedLesson());
}

// A graph of a pass is not in it: in its place stands why there is nothing to see.
start({ graph: UnreadablePage, learn: LearnPage }, () => startEmbedded("torcheer-lesson", "tensor.explain(path)", begin));
