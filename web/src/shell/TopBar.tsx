/** The top bar: brand, views, which pass, connection, theme. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { addressOf } from "../route";
import { ConnectionBadge } from "./ConnectionBadge";
import { Icon } from "./Icon";
import { keysShown } from "./keys";
import { panels } from "./panels";
import { SheetButtons } from "./SheetButtons";
import { Subject } from "./Subject";
import { ThemeSwitch } from "./ThemeSwitch";
import { areaOf, areas, shownView, TITLES, type Area } from "./views";

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
