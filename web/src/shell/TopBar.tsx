/** The top bar: brand, views, which pass, connection, theme. */
import { addressOf } from "../route";
import * as store from "../store";
import { ConnectionBadge } from "./ConnectionBadge";
import { Icon } from "./Icon";
import { keysShown } from "./keys";
import { panels } from "./panels";
import { SheetButtons } from "./SheetButtons";
import { Subject } from "./Subject";
import { ThemeSwitch } from "./ThemeSwitch";
import { areaOf, shownView, type Area } from "./views";

export function TopBar() {
  return (
    <header class="topbar">
      <span class="brand">
        <Mark />
        torcheer
      </span>
      <nav class="tabs" aria-label="Views">
        {tabs().map(([view, title]) => (
          <a key={view} href={addressOf(view)} aria-current={isCurrent(view) ? "page" : undefined}>
            {title}
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

/** Only what there is something to show of. */
function tabs(): readonly (readonly [Area, string])[] {
  if (store.source.value?.hasRuns.value !== true) return [["graph", "Graph"]];
  // A file with a run in it is that of a network, and has nothing else.
  if (store.source.value.connection.value.state === "one-file") return [["netview", "NetView"]];
  return [
    ["runs", "Runs"],
    ["graph", "Graph"],
    ["netview", "NetView"],
    ["control", "Control"],
    ["training", "Training"],
  ];
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
