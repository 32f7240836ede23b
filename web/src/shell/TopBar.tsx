/** The top bar: brand, views, which pass, connection, theme. */
import { ConnectionBadge } from "./ConnectionBadge";
import { Icon } from "./Icon";
import { keysShown } from "./keys";
import { panels, togglePanel } from "./panels";
import { SubjectPicker } from "./SubjectPicker";
import { ThemeSwitch } from "./ThemeSwitch";

export function TopBar() {
  return (
    <header class="topbar">
      <span class="brand">
        <Mark />
        torcheer
      </span>
      <nav class="tabs" aria-label="Views">
        <a href="#graph" aria-current="page" onClick={(event) => event.preventDefault()}>
          Graph
        </a>
      </nav>
      <span class="grow" />
      <SubjectPicker />
      <ConnectionBadge />
      {panels.value.width === "narrow" && <SheetButtons />}
      <button class="btn quiet square" aria-label="Show all keys" onClick={() => (keysShown.value = true)}>
        <Icon name="keys" />
      </button>
      <ThemeSwitch />
    </header>
  );
}

function SheetButtons() {
  const { left, right } = panels.value;
  return (
    <>
      <button
        class="btn quiet square"
        aria-label="Modules"
        aria-pressed={left}
        onClick={() => togglePanel("left")}
      >
        <Icon name="tree" />
      </button>
      <button
        class="btn quiet square"
        aria-label="Inspector"
        aria-pressed={right}
        onClick={() => togglePanel("right")}
      >
        <Icon name="details" />
      </button>
    </>
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
