/** Start a page: what every page has, the views that this one has, and where its data come from. */
import { render, type ComponentType } from "preact";
import { startPlace } from "../data/pass-address";
import { startRoute, type View } from "../data/route";
import { keepSelection } from "../data/session";
import { startViews } from "../data/views";
import { startFinding } from "../pages/graph/modules/search";
import { startPanels } from "../ui/panels";
import { startTheme } from "../ui/theme/theme";
import { App } from "./App";
import { startKeys } from "./keys";
import "../ui/theme/tokens.css";
import "../ui/theme/base.css";
import "../ui/theme/controls.css";
import "../ui/theme/shell.css";
import "../ui/theme/panels.css";
import "../ui/theme/data.css";

export type Pages = Partial<Record<View, ComponentType>> & { readonly graph: ComponentType };

export function start(pages: Pages, startSource: () => void): void {
  startRoute();
  startTheme();
  startPanels();
  startKeys();
  startFinding();
  keepSelection();
  startPlace();
  startSource();
  startViews();
  const root = document.getElementById("app") ?? document.body;
  // What stood there for pages without scripts.
  root.replaceChildren();
  render(<App pages={pages} />, root);
}
