/** The top bar: brand, views, which pass, connection, theme. */
import type { ComponentType } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { isConnected } from "../data/connection";
import { control } from "../data/control";
import { formatCount, formatNumberOf } from "../data/format";
import { run } from "../data/network/moments";
import { groupPasses, type PassGroup } from "../data/pass-groups";
import { addressOf, TITLES } from "../data/route";
import { chosen, folder, runs, runsById } from "../data/runs";
import { choosePass } from "../data/session";
import type { PassListing } from "../data/source";
import * as store from "../data/store";
import { type Area, areas, shownArea, shownView } from "../data/views";
import { FeaturePicker } from "../pages/analysis/FeatureSets";
import { ControlPicker } from "../pages/control/listings";
import { LessonPicker } from "../pages/learn/LessonPicker";
import { RunPicker } from "../pages/netview/RunPicker";
import { Icon } from "../ui/Icon";
import { type Option, Picker } from "../ui/Picker";
import { keysShown } from "../ui/keys";
import { panelName, panels, type Side, togglePanel } from "../ui/panels";
import { isLive } from "../ui/run-states";
import { switchTheme, theme } from "../ui/theme/theme";

export function TopBar() {
  const tabs = useRef<HTMLElement>(null);
  const view = shownView.value;
  const Subject = SUBJECTS[shownArea.value] ?? Folder;
  const otherTheme = theme.value === "dark" ? "light" : "dark";
  // On a narrow page not all of them have room.
  useLayoutEffect(() => {
    tabs.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [view]);
  const isCurrent = (area: Area): boolean => view !== null && shownArea.value === area;
  return (
    <header class="topbar">
      <span class="brand">
        <Mark />
        torcheer
      </span>
      <nav class="tabs" aria-label="Views" ref={tabs}>
        {areas.value.map((area) => (
          <a key={area} href={addressOf(area)} aria-current={isCurrent(area) ? "page" : undefined}>
            {TITLES[area]}
          </a>
        ))}
      </nav>
      <span class="grow" />
      <Subject />
      <ConnectionBadge />
      {panels.value.width === "narrow" && SIDES.map((side) => <SheetButton key={side} side={side} />)}
      <button class="btn quiet square" aria-label="Show all keys" onClick={() => (keysShown.value = true)}>
        <Icon name="keys" />
      </button>
      <button class="btn quiet square" aria-label={`Switch to the ${otherTheme} theme`} onClick={switchTheme}>
        <Icon name="theme" />
      </button>
    </header>
  );
}

function Mark() {
  return (
    <svg viewBox="0 0 18 18" aria-hidden="true">
      <circle cx="9" cy="4" r="2.5" fill="var(--accent)" />
      <circle cx="4" cy="13" r="2.5" fill="none" stroke="var(--text)" stroke-width="1.5" />
      <circle cx="14" cy="13" r="2.5" fill="none" stroke="var(--text)" stroke-width="1.5" />
      <path d="M8 6.3 5.3 10.8M10 6.300l2.700 4.5" stroke="var(--text)" stroke-width="1.5" />
    </svg>
  );
}

const WORDS = {
  "one-file": ["one file", "badge"],
  connecting: ["connecting", "badge"],
  connected: ["connected", "badge"],
  lost: ["connection lost", "badge warn"],
  refused: ["not admitted", "badge warn"],
} as const;

/** A word: is there a server behind this page, and does anything change? */
function ConnectionBadge() {
  const connection = store.source.value?.connection.value;
  if (connection === undefined) return null;
  const isOn = hasLiveRuns();
  const [word, style] = isOn ? ["live", "badge live"] : WORDS[connection.state];
  return (
    <span class={style} role="status">
      <i class={isOn ? "dot pulse" : "dot"} />
      {word}
    </span>
  );
}

function hasLiveRuns(): boolean {
  const area = shownArea.value;
  if (area === "graph" || area === "learn") return false;
  if (area === "netview") return run.value !== null && isLive(run.value);
  if (area === "control") {
    const state = control.value?.listing.state;
    return isConnected.value && (state === "busy" || state === "stopping");
  }
  return (area === "training" ? chosen : runs).value.some(isLive);
}

const SIDES: readonly Side[] = ["left", "right"];

/** On a narrow page: the buttons that bring the side panels as sheets. */
function SheetButton({ side }: { side: Side }) {
  const name = panelName(side);
  if (name === undefined) return null;
  return (
    <button
      class="btn quiet square"
      aria-label={name.title}
      aria-pressed={panels.value[side]}
      onClick={() => togglePanel(side)}
    >
      <Icon name={name.icon} />
    </button>
  );
}

// --- What the view is about: a pass, a run, a training, a set of features, an expression, the folder of the runs.

const SUBJECTS: Partial<Record<Area, ComponentType>> = {
  graph: PassPicker,
  netview: RunPicker,
  control: ControlPicker,
  features: FeaturePicker,
  learn: LessonPicker,
};

function Folder() {
  if (folder.value === "") return null;
  return (
    <span class="subject" title={folder.value}>
      <span class="clip">{folder.value}</span>
      <span class="muted">{formatNumberOf(runs.value.length, "run")}</span>
    </span>
  );
}

/** Which pass is shown; a list to choose from where there are several. */
function PassPicker() {
  const passes = store.source.value?.passes.value ?? [];
  const current = passes.find((pass) => pass.id === store.passId.value);
  const name = current?.name ?? store.document.value?.model_name;
  if (name === undefined && passes.length === 0) return null;
  return (
    <Picker
      label="Passes"
      options={() => passOptions(passes)}
      chosen={store.passId.value ?? ""}
      choose={(id) => choose(passes, id)}
      onOpen={() => store.source.value?.refreshPasses()}
      alone={passes.length < 2 && name !== undefined ? "" : undefined}
    >
      <Said name={name ?? "Choose a pass"} detail={detailOf(current)} />
    </Picker>
  );
}

function Said({ name, detail }: { name: string; detail: string }) {
  return (
    <>
      <span class="clip">{name}</span>
      {detail !== "" && <span class="muted clip">{detail}</span>}
    </>
  );
}

function choose(passes: readonly PassListing[], id: string): void {
  const pass = passes.find((one) => one.id === id);
  if (pass !== undefined && id !== store.passId.value) choosePass(pass);
}

/** `resnet18-cifar, step 1100`, or the file that it was saved to. */
function detailOf(pass: PassListing | undefined): string {
  if (pass === undefined) return "";
  const name = runsById.value.get(pass.run_id)?.name ?? "";
  return name === "" ? stepOf(pass) : `${name}, ${stepOf(pass)}`;
}

function stepOf({ run_id, step, detail }: PassListing): string {
  return run_id !== "" && step !== null ? `step ${formatCount(step)}` : detail;
}

/** The passes to choose from: those of one run under its name. */
function passOptions(passes: readonly PassListing[]): Option[] {
  const isOfRun = ({ runId }: PassGroup): number => (runId === "" ? 0 : 1);
  // Those that belong to no run first: after a heading they would seem to belong under it.
  const groups = groupPasses(passes, runsById.value).toSorted((a, b) => isOfRun(a) - isOfRun(b));
  return groups.flatMap(({ runId, runName, passes: group }) => {
    const all = group.map((pass): Option => ({ id: pass.id, name: pass.name, detail: stepOf(pass) }));
    const count = group.length === 1 ? "" : formatCount(group.length);
    // The newest first, under the name of the run.
    return runId === "" ? all : [{ id: null, name: runName, detail: count }, ...all.reverse()];
  });
}
