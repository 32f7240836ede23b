/** The frame of all views of chosen runs: which runs and the view's options left, the view right. */
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { formatCount } from "../data/format";
import { addressOf, param, route, setParams, type View } from "../data/route";
import * as runs from "../data/runs";
import type { RecordKind, RunListing } from "../wire";
import { Blank, Failed, NoRuns, Skeletons } from "./Blank";
import { FilterField } from "./FilterField";
import { IconButton } from "./IconButton";
import { HidePanel, PanelPlace } from "./PanelPlace";
import { StateBadge } from "./StateBadge";
import { panels, panelWidth } from "./panels";
import { parseFilter } from "./run-filter";
import { shownState } from "./run-states";
import { useRowsInView, useScrollMemory } from "./scroll";

interface Props {
  /** Sections (`<section class="section">`) under the list of runs. */
  options?: ComponentChildren;
  /** Is there something to show also where no run is chosen? */
  isForAll?: boolean;
  children: ComponentChildren;
}

export function RunsFrame({ options, isForAll = false, children }: Props) {
  return (
    <main class={`main runs-frame ${panels.value.width}`} style={{ "--left": `${panelWidth.value.left}px` }}>
      <PanelPlace side="left">
        <aside class="panel" aria-label="Runs and options">
          <RunList />
          <div class="panel-body run-options">{options}</div>
        </aside>
      </PanelPlace>
      <section class="panel frame-view" aria-label="Training">
        <TrainingTabs />
        <FrameBody isForAll={isForAll}>{children}</FrameBody>
      </section>
    </main>
  );
}

const TABS: readonly { view: View; title: string; kinds: readonly RecordKind[] }[] = [
  {
    view: "training",
    title: "Charts",
    kinds: ["scalar", "histogram", "image", "video", "audio", "text", "pr_curve", "confusion"],
  },
  { view: "layers", title: "Layers", kinds: ["watch"] },
  { view: "tensors", title: "Tensors", kinds: ["tensor", "histogram"] },
  { view: "projector", title: "Projector", kinds: ["embedding"] },
  { view: "parameters", title: "Parameters", kinds: ["hparams"] },
];

/** The views of chosen runs. One that has nothing to show is muted; it says there what would fill it. */
function TrainingTabs() {
  return (
    <nav class="subtabs" aria-label="Views of the runs">
      {TABS.map(({ view, title, kinds }) => {
        const hasSome = !runs.isIndexed.value || kinds.some((kind) => runs.namesOf(kind).length > 0);
        return (
          <a
            key={view}
            class={hasSome ? undefined : "empty"}
            href={addressOf(view)}
            aria-current={route.value.view === view ? "page" : undefined}
          >
            {title}
          </a>
        );
      })}
    </nav>
  );
}

/** The view of chosen runs, or what stands there while there are none. */
export function FrameBody({ isForAll, children }: { isForAll: boolean; children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  useScrollMemory(box, route.value.view ?? "");
  return (
    <div class="panel-body" ref={box} aria-busy={runs.listing.value.state === "waiting"}>
      {standIn(isForAll) ?? children}
    </div>
  );
}

/** Null where there are runs to show. */
function standIn(isForAll: boolean): ComponentChildren {
  const listing = runs.listing.value;
  // What was known stays: a folder that cannot be read any more has charts to show.
  if (runs.runs.value.length > 0) {
    if (isForAll || runs.chosen.value.length > 0) return route.value.view === "training" ? layersOnly() : null;
    const isGone = !["", runs.NONE].includes(param("runs"));
    return (
      <Blank icon="tree" title={isGone ? "The run of this address is not in the folder" : "No run is chosen"}>
        {isGone && <span>It was removed or renamed, or the address is of another folder.</span>}
        <span>Choose one in the list of runs to see it here.</span>
        <button class="btn" onClick={() => runs.chooseAll(runs.runs.value.map((run) => run.id))}>
          Show all
        </button>
      </Blank>
    );
  }
  if (listing.state === "waiting") {
    return (
      <div class="frame-waiting late" aria-hidden="true">
        {[0, 1, 2, 3].map((at) => (
          <i key={at} class="skeleton block" />
        ))}
      </div>
    );
  }
  if (listing.state === "failed") {
    return <Failed title="The runs cannot be read" reason={listing.reason} retry={runs.retry} />;
  }
  return <NoRuns />;
}

const NOT_IN_CHARTS: ReadonlySet<RecordKind> = new Set(["netview", "moment", "tensor", "gap", "pass", "embedding", "hparams", "layout"]);

/** Where the chosen runs have a network to look at and no charts, the way there; null elsewhere. */
function layersOnly(): ComponentChildren {
  if (!runs.isIndexed.value) return null;
  const kindsOf = (id: string): RecordKind[] => [...(runs.index.value.get(id)?.values() ?? [])].map(({ kind }) => kind);
  const { value: chosen } = runs.chosen;
  const withNet = chosen.find(({ id }) => kindsOf(id).includes("netview"));
  if (withNet === undefined || !chosen.every(({ id }) => kindsOf(id).every((kind) => NOT_IN_CHARTS.has(kind)))) return null;
  return (
    <Blank icon="details" title="No scalars were logged">
      <span>{withNet.name} has layers that can be looked at.</span>
      <a class="btn" href={addressOf("netview", { run: withNet.id })}>
        Show it in NetView
      </a>
    </Blank>
  );
}

const ROW_HEIGHT = 28;

/** The runs of the folder with a box to choose each, over the options of a view. */
function RunList() {
  const all = runs.runs.value;
  const filter = parseFilter(param("rf"));
  const shown = all.filter((run) => filter.matches(run));
  const box = useRef<HTMLDivElement>(null);
  const { first, end } = useRowsInView(box, shown.length, ROW_HEIGHT);
  return (
    <div class="run-list">
      <div class="panel-head">
        <h2>Runs</h2>
        <span class="muted fs-2 clip">{saidChosen(runs.chosen.value.length, all.length)}</span>
        <span class="grow" />
        <HidePanel side="left" label="Hide runs" />
      </div>
      <div class="pad-s">
        <FilterField
          label="Filter runs"
          placeholder="Filter runs"
          value={param("rf")}
          problem={filter.problem}
          onChange={(text) => setParams({ rf: text === "" ? null : text })}
          onLeave={() => box.current?.querySelector("input")?.focus()}
        />
      </div>
      <div class="run-rows" ref={box}>
        {all.length === 0 && runs.listing.value.state === "waiting" && <Skeletons widths={[120, 96, 140, 104]} />}
        <ul
          aria-label="Runs"
          style={{ height: `${shown.length * ROW_HEIGHT}px`, paddingTop: `${first * ROW_HEIGHT}px` }}
          onKeyDown={moveFocus}
        >
          {shown.slice(first, end).map((run) => (
            <RunListRow key={run.id} run={run} />
          ))}
        </ul>
      </div>
      {all.length > 0 && (
        <div class="run-list-foot">
          <button class="link fs-1" onClick={() => runs.chooseAll(shown.map((run) => run.id))}>
            {filter.problem === "" && shown.length < all.length ? "All that match" : "All"}
          </button>
          <button class="link fs-1" onClick={() => runs.chooseAll([])}>
            None
          </button>
          <span class="grow" />
          {shown.length < all.length && (
            <span class="muted fs-1">{formatCount(all.length - shown.length)} filtered out</span>
          )}
        </div>
      )}
    </div>
  );
}

function saidChosen(numChosen: number, numAll: number): string {
  if (numAll === 0) return "";
  const most = numChosen === runs.MAX_CHOSEN ? ", the most there can be" : "";
  return `${formatCount(numChosen)} of ${formatCount(numAll)} shown${most}`;
}

function moveFocus(event: KeyboardEvent): void {
  const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (by === 0 || !(event.currentTarget instanceof HTMLElement)) return;
  const boxes = [...event.currentTarget.querySelectorAll("input")];
  const next = boxes[boxes.findIndex((one) => one === document.activeElement) + by];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}

/** One run of the list: its box, its colour, its name, and how it stands where that matters. */
function RunListRow({ run }: { run: RunListing }) {
  const { style, word } = shownState(run);
  const only = (): void => runs.chooseAll([run.id]);
  const onClick = (event: MouseEvent): void => {
    if (!event.altKey) return;
    event.preventDefault();
    only();
  };
  return (
    <li class={runs.isChosen(run.id) ? "chosen" : undefined}>
      <label onClick={onClick} title={run.comment === "" ? run.name : `${run.name}\n${run.comment}`}>
        <RunBox run={run} label={`Show ${run.name}`} />
        <span class="clip">{run.name}</span>
      </label>
      {/* Only what is out of the ordinary: a run that has ended as it should needs no word. */}
      {style !== "" && <StateBadge run={run} word={style === "live" ? "live" : word} />}
      <IconButton icon="only" label={`Show only ${run.name}`} look="btn quiet only" title="Show only this run" onClick={only} />
    </li>
  );
}

/** Chooses a run; beside it is the colour that it has then. */
export function RunBox({ run, label, tabIndex }: { run: RunListing; label: string; tabIndex?: number }) {
  const isChosen = runs.isChosen(run.id);
  return (
    <>
      <input
        type="checkbox"
        tabIndex={tabIndex}
        aria-label={label}
        checked={isChosen}
        onChange={(event) => runs.choose(run.id, event.currentTarget.checked)}
      />
      <i class={isChosen ? "sw" : "sw none"} style={{ "--c": runs.colourOf(run.id) }} />
    </>
  );
}
