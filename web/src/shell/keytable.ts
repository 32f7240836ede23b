/** All keys, as the window that lists them shows them. */
import { areas, shownArea, TITLES, type Area } from "./views";

export interface KeyRow {
  readonly keys: readonly string[];
  readonly action: string;
}

export interface KeyGroup {
  readonly title: string;
  readonly rows: readonly KeyRow[];
}

const LETTERS: Record<Area, string> = { runs: "r", graph: "g", netview: "n", control: "c", training: "t", features: "f", learn: "l" };

/** Control and Learn have nothing to search in. */
const FIND: Partial<Record<Area, string>> = {
  runs: "Filter the runs",
  graph: "Find a module or op",
  netview: "Filter the layers",
  training: "Filter the runs",
  features: "Filter the layers",
};

const ANYWHERE: readonly KeyRow[] = [
  { keys: ["Esc"], action: "Clear the selection, close" },
  { keys: ["?"], action: "Show all keys" },
];

const GRAPH: readonly KeyGroup[] = [
  {
    title: "Graph",
    rows: [
      { keys: ["↑", "↓"], action: "Along the edges, against and with the flow" },
      { keys: ["←", "→"], action: "To a neighbour" },
      { keys: ["Enter"], action: "Open the module, show the op" },
      { keys: ["e"], action: "Open or close the selected module" },
      { keys: ["Home", "End"], action: "First, last op" },
      { keys: ["[", "]"], action: "Batch item before, after" },
      { keys: ["0"], action: "Fit the graph" },
      { keys: ["+", "−"], action: "Zoom" },
    ],
  },
  {
    title: "Lists",
    rows: [
      { keys: ["↑", "↓"], action: "Move" },
      { keys: ["→", "←"], action: "Open, close" },
      { keys: ["Enter"], action: "Show in the graph" },
      { keys: ["Home", "End"], action: "First, last" },
    ],
  },
];

const RUNS: readonly KeyGroup[] = [
  {
    title: "Runs",
    rows: [
      { keys: ["↑", "↓"], action: "Move" },
      { keys: ["Home", "End"], action: "First, last" },
      { keys: ["x"], action: "Add to the comparison, or take out" },
      { keys: ["Enter"], action: "Open the run in Training" },
    ],
  },
];

const NETVIEW: readonly KeyGroup[] = [
  {
    title: "Time and values",
    rows: [
      { keys: ["←", "→"], action: "One moment, with Shift ten" },
      { keys: ["Home", "End"], action: "First, last moment" },
      { keys: ["Space"], action: "Play, pause" },
      { keys: ["f"], action: "Follow the newest" },
      { keys: ["v"], action: "To the variables; arrows choose" },
      { keys: ["[", "]"], action: "Batch item before, after" },
    ],
  },
  {
    title: "Camera",
    rows: [
      { keys: ["0", "+", "−"], action: "Fit, zoom" },
      { keys: ["1", "–", "4"], action: "Use a saved camera, with Shift save it" },
    ],
  },
  {
    title: "Network, where it has the focus",
    rows: [
      { keys: ["w", "a", "s", "d"], action: "Turn, with Shift move" },
      { keys: ["i", "j", "k", "l"], action: "The unit above, left, below, right" },
      { keys: ["u", "o"], action: "The layer below, above" },
      { keys: ["Enter"], action: "The layer alone, and back" },
    ],
  },
  {
    title: "Analysis, where a picture has the focus",
    rows: [
      { keys: ["←", "→", "↑", "↓"], action: "The item or unit before, after; with Shift ten" },
      { keys: ["Enter"], action: "Show the item in the network" },
    ],
  },
];

const CONTROL: readonly KeyGroup[] = [
  {
    title: "Training",
    rows: [
      { keys: ["."], action: "Step" },
      { keys: ["r"], action: "Run" },
      { keys: ["s"], action: "Stop; again: end the process" },
    ],
  },
  {
    title: "Parameters, in a field",
    rows: [
      { keys: ["Enter"], action: "Apply a live parameter" },
      { keys: ["Esc"], action: "Take back what was typed" },
    ],
  },
  {
    title: "Network",
    rows: [
      { keys: ["v"], action: "Variable list" },
      { keys: ["[", "]"], action: "Item of the batch" },
      { keys: ["0", "+", "−"], action: "Fit, zoom" },
      { keys: ["1", "2", "3", "4"], action: "Camera, with Shift save it" },
    ],
  },
  {
    title: "Plots, where they have the focus",
    rows: [
      { keys: ["←", "→"], action: "One point, with Shift ten" },
      { keys: ["Home", "End"], action: "First, last point" },
      { keys: ["Enter"], action: "Enlarge" },
    ],
  },
  {
    title: "Tables, where they have the focus",
    rows: [
      { keys: ["↑", "↓"], action: "Move" },
      { keys: ["Enter"], action: "Test the item of the row" },
    ],
  },
];

const TRAINING: readonly KeyGroup[] = [
  {
    title: "Charts, pictures and steps, where they have the focus",
    rows: [
      { keys: ["←", "→"], action: "One step, with Shift ten" },
      { keys: ["Home", "End"], action: "First, last step" },
      { keys: ["+", "−", "0"], action: "Zoom, fit" },
      { keys: ["Enter"], action: "Enlarge a chart, open a point" },
      { keys: ["Esc"], action: "Back to the whole" },
    ],
  },
  {
    title: "Layers, where the map has the focus",
    rows: [
      { keys: ["↑", "↓", "←", "→"], action: "From cell to cell, with Shift ten" },
      { keys: ["Enter"], action: "Open the row at this step" },
      { keys: ["Home", "End"], action: "First, last step" },
      { keys: ["+", "−", "0"], action: "Zoom, all steps" },
      { keys: ["Esc"], action: "Back to the whole, close the row" },
    ],
  },
  {
    title: "Tensors",
    rows: [
      { keys: ["←", "→"], action: "One step, with Shift ten" },
      { keys: ["Home", "End"], action: "First, last step" },
      { keys: ["Space"], action: "Play, pause" },
      { keys: ["f"], action: "Follow the newest" },
      { keys: ["x"], action: "Compare with another step" },
      { keys: ["[", "]"], action: "Item before, after" },
    ],
  },
  {
    title: "Projector",
    rows: [
      { keys: ["2", "3"], action: "Two, three dimensions" },
      { keys: ["0", "+", "−"], action: "Fit, zoom" },
      { keys: ["↑", "↓", "←", "→"], action: "From point to point" },
      { keys: ["Enter"], action: "Neighbours of the point; again: select them" },
      { keys: ["Space"], action: "Add the point to the selection" },
    ],
  },
  {
    title: "Runs",
    rows: [
      { keys: ["Space"], action: "Show or hide the run" },
      { keys: ["↑", "↓"], action: "Move in the list" },
    ],
  },
];

const FEATURES: readonly KeyGroup[] = [
  {
    title: "Layers",
    rows: [
      { keys: ["↑", "↓"], action: "To another layer" },
      { keys: ["Home", "End"], action: "First, last" },
      { keys: ["Enter"], action: "Look at its values" },
    ],
  },
  {
    title: "Pictures, where they have the focus",
    rows: [
      { keys: ["↑", "↓", "←", "→"], action: "From cell to cell, with Shift ten" },
      { keys: ["Home", "End"], action: "First, last of the row" },
      { keys: ["Enter"], action: "Choose the sample and the unit" },
      { keys: ["Esc"], action: "Let go of them" },
    ],
  },
  {
    title: "Projector",
    rows: [
      { keys: ["2", "3"], action: "Two, three dimensions" },
      { keys: ["0", "+", "−"], action: "Fit, zoom" },
    ],
  },
];

const LEARN: readonly KeyGroup[] = [
  {
    title: "Steps",
    rows: [
      { keys: ["←", "→"], action: "One step, with Shift ten" },
      { keys: ["Home", "End"], action: "First, last step" },
      { keys: ["Space"], action: "Play, pause" },
      { keys: ["b"], action: "Backward, forward" },
      { keys: ["Enter"], action: "Show what was to be guessed" },
    ],
  },
  {
    title: "Graph, where a value has the focus",
    rows: [
      { keys: ["↑", "↓"], action: "Along the edges: to what made it, to what it made" },
      { keys: ["←", "→"], action: "To a neighbour" },
      { keys: ["Enter"], action: "Show its numbers" },
      { keys: ["0", "+", "−"], action: "Fit, zoom; from anywhere" },
    ],
  },
  {
    title: "Numbers, where they have the focus",
    rows: [{ keys: ["←", "→", "↑", "↓"], action: "From element to element" }],
  },
  {
    title: "Lists, where they have the focus",
    rows: [
      { keys: ["↑", "↓"], action: "Move" },
      { keys: ["Home", "End"], action: "First, last" },
    ],
  },
  {
    title: "Expression and answers, in a field",
    rows: [
      { keys: ["Ctrl", "Enter"], action: "Run the expression" },
      { keys: ["Enter"], action: "Check an answer or a guess" },
      { keys: ["Esc"], action: "Take back what was typed" },
    ],
  },
];

const BY_AREA: Record<Area, readonly KeyGroup[]> = {
  runs: RUNS,
  graph: GRAPH,
  netview: NETVIEW,
  control: CONTROL,
  training: TRAINING,
  features: FEATURES,
  learn: LEARN,
};

/** The keys of what is shown; those of other views are listed there. */
export function keyTable(hasPlaces: boolean): readonly KeyGroup[] {
  const area = shownArea.value;
  const find = FIND[area];
  const findRow: readonly KeyRow[] = find === undefined ? [] : [{ keys: ["/"], action: find }];
  const anywhere = { title: "Anywhere", rows: [...(hasPlaces ? placeRows() : []), ...findRow, ...ANYWHERE] };
  return [anywhere, ...BY_AREA[area]];
}

function placeRows(): readonly KeyRow[] {
  return areas.value.map((area, at) => ({
    keys: ["g", LETTERS[area]],
    action: `Go to ${TITLES[area]}${at === 0 ? ": one after the other" : ""}`,
  }));
}
