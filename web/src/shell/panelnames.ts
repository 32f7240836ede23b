/** What the side panels of each part of the page are called, for those who open, size and hide them. */
import type { IconName } from "./Icon";
import type { Side } from "./panels";
import { shownArea, type Area } from "./views";

interface PanelName {
  /** On the button that opens it. */
  readonly title: string;
  /** In a sentence: the width of … */
  readonly phrase: string;
  readonly icon: IconName;
}

const NAMES: Record<Area, Partial<Record<Side, PanelName>>> = {
  runs: { right: { title: "Compare", phrase: "the comparison", icon: "details" } },
  graph: {
    left: { title: "Modules", phrase: "the module panel", icon: "tree" },
    right: { title: "Inspector", phrase: "the inspector", icon: "details" },
  },
  netview: {
    left: { title: "Variables and layers", phrase: "the list of layers", icon: "tree" },
    right: { title: "Colour and unit", phrase: "the panel of the unit", icon: "details" },
  },
  control: { left: { title: "Parameters", phrase: "the parameters", icon: "details" } },
  features: { left: { title: "Features and layers", phrase: "the list of layers", icon: "tree" } },
  learn: {
    left: { title: "Expression and steps", phrase: "the expression", icon: "tree" },
    right: { title: "Step", phrase: "the panel of the step", icon: "details" },
  },
  training: { left: { title: "Runs and options", phrase: "the list of runs", icon: "tree" } },
};

/** Undefined where this part of the page has no such panel. */
export function panelName(side: Side): PanelName | undefined {
  return NAMES[shownArea.value][side];
}
