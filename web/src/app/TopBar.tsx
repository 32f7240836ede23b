/** The top bar: brand, views, which pass, connection, theme. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { formatCount, formatNumberOf } from "../data/format";
import { groupPasses } from "../data/pass-groups";
import { addressOf } from "../data/route";
import * as runs from "../data/runs";
import { runsById } from "../data/runs";
import { choosePass } from "../data/session";
import type { PassListing } from "../data/source";
import * as store from "../data/store";
import { type Area, areaOf, areas, shownArea, shownView, TITLES } from "../data/views";
import { FeaturePicker } from "../pages/analysis/features/FeaturePicker";
import { ControlPicker } from "../pages/control/listings";
import { LessonPicker } from "../pages/learn/LessonPicker";
import { RunPicker } from "../pages/netview/RunPicker";
import { Icon } from "../ui/Icon";
import { type Option, Picker } from "../ui/Picker";
import { keysShown } from "../ui/keys";
import { panelName, panels, type Side, togglePanel } from "../ui/panels";
import { switchTheme, theme } from "../ui/theme/theme";
import { ConnectionBadge } from "./ConnectionBadge";

export function TopBar() {
  const tabs = useRef<HTMLElement>(null);
  const view = shownView.value;
  // On a narrow page not all of them have room.
  useLayoutEffect(() => {
    tabs.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [view]);
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
      {panels.value.width === "narrow" && <SheetButtons />}
      <button class="btn quiet square" aria-label="Show all keys" onClick={() => (keysShown.value = true)}>
        <Icon name="keys" />
      </button>
      <ThemeSwitch />
    </header>
  );
}

function isCurrent(area: Area): boolean {
  return shownView.value !== null && areaOf(shownView.value) === area;
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

// --- The button between light and dark.

function ThemeSwitch() {
  const other = theme.value === "dark" ? "light" : "dark";
  return (
    <button class="btn quiet square" aria-label={`Switch to the ${other} theme`} onClick={switchTheme}>
      <Icon name="theme" />
    </button>
  );
}

// --- In the top bar: what the view is about: a pass, a run, a training, a set of features, an expression, or
//   the folder of the runs.

function Subject() {
  if (shownArea.value === "graph") return <SubjectPicker />;
  if (shownArea.value === "netview") return <RunPicker />;
  if (shownArea.value === "control") return <ControlPicker />;
  if (shownArea.value === "features") return <FeaturePicker />;
  if (shownArea.value === "learn") return <LessonPicker />;
  const { folder, runs: all } = runs;
  if (folder.value === "") return null;
  return (
    <span class="subject" title={folder.value}>
      <span class="clip">{folder.value}</span>
      <span class="muted">{formatNumberOf(all.value.length, "run")}</span>
    </span>
  );
}

// --- On a narrow page: the buttons that bring the side panels as sheets.

function SheetButtons() {
  return (
    <>
      <SheetButton side="left" />
      <SheetButton side="right" />
    </>
  );
}

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

// --- Which pass is shown; a list to choose from where there are several.

function SubjectPicker() {
  const passes = store.source.value?.passes.value ?? [];
  const current = passes.find((pass) => pass.id === store.passId.value);
  const name = current?.name ?? store.document.value?.model_name;
  if (name === undefined && passes.length === 0) return null;
  const detail = current === undefined ? "" : detailOf(current);
  if (passes.length < 2 && name !== undefined) {
    return (
      <span class="subject">
        <Said name={name} detail={detail} />
      </span>
    );
  }
  return <PassPicker passes={passes} name={name ?? "Choose a pass"} detail={detail} />;
}

/** `resnet18-cifar, step 1100`, or the file that it was saved to. */
function detailOf(pass: PassListing): string {
  if (pass.run_id === "") return pass.detail;
  const run = runsById.value.get(pass.run_id)?.name ?? "";
  const step = pass.step === null ? pass.detail : `step ${formatCount(pass.step)}`;
  return run === "" ? step : `${run}, ${step}`;
}

interface Props {
  passes: readonly PassListing[];
  name: string;
  detail: string;
}

function PassPicker({ passes, name, detail }: Props) {
  return (
    <Picker
      label="Passes"
      options={() => passOptions(passes)}
      chosen={store.passId.value ?? ""}
      choose={(id) => choose(passes, id)}
      onOpen={() => store.source.value?.refreshPasses()}
    >
      <Said name={name} detail={detail} />
    </Picker>
  );
}

function choose(passes: readonly PassListing[], id: string): void {
  const pass = passes.find((one) => one.id === id);
  if (pass !== undefined && id !== store.passId.value) choosePass(pass);
}

function Said({ name, detail }: { name: string; detail: string }) {
  return (
    <>
      <span class="clip">{name}</span>
      {detail !== "" && <span class="muted clip">{detail}</span>}
    </>
  );
}

// --- The passes to choose from: those of one run under its name.

function passOptions(passes: readonly PassListing[]): Option[] {
  // Those that belong to no run first: after a heading they would seem to belong under it.
  const groups = groupPasses(passes, runsById.value);
  const inOrder = [
    ...groups.filter(({ runId }) => runId === ""),
    ...groups.filter(({ runId }) => runId !== ""),
  ];
  return inOrder.flatMap(({ runId, runName, passes: group }) => {
    const all = group.map((pass): Option => ({ id: pass.id, name: pass.name, detail: saidOf(pass) }));
    // The newest first, under the name of the run.
    return runId === ""
      ? all
      : [{ id: null, name: runName, detail: countOf(group.length) }, ...all.reverse()];
  });
}

function saidOf(pass: PassListing): string {
  return pass.run_id !== "" && pass.step !== null ? `step ${formatCount(pass.step)}` : pass.detail;
}

function countOf(count: number): string {
  return count === 1 ? "" : formatCount(count);
}
