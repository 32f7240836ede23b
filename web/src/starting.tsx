/** Start a page: what every page has, the views that this one has, and where its data come from. */
import { render, type ComponentType } from "preact";
import { startFinding } from "./modules/finding";
import { startRoute, type View } from "./route";
import { keepSelection } from "./session";
import { App } from "./shell/App";
import { startPlace } from "./shell/graphplace";
import { startKeys } from "./shell/keys";
import { startPanels } from "./shell/panels";
import { startViews } from "./shell/views";
import { startTheme } from "./theme/theme";
import "./theme/tokens.css";
import "./theme/base.css";
import "./theme/controls.css";
import "./theme/shell.css";
import "./theme/panels.css";
import "./theme/data.css";

/** The views of a page. The graph is always there. */
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
