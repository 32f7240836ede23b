/** A panel beside the drawing, a rail that opens it, or a sheet over the drawing. */
import type { ComponentChildren } from "preact";
import { Icon } from "./Icon";
import { Separator } from "./Separator";
import { panelName, panels, panelWidth, resizePanel, setPanel, type Side, WIDTH_LIMITS } from "./panels";

const KEY_STEP = 16;

interface Props {
  side: Side;
  children: ComponentChildren;
}

export function PanelPlace({ side, children }: Props) {
  const { width, [side]: isOpen } = panels.value;
  if (width === "narrow") return isOpen ? <div class={`sheet ${side}`}>{children}</div> : null;
  if (!isOpen) return <Rail side={side} />;
  return (
    <div class={`dock ${side}`}>
      {children}
      <Separator
        style={`resizer ${side}`}
        label={`Width of ${panelName(side)?.phrase ?? "the panel"}`}
        size={panelWidth.value[side]}
        least={WIDTH_LIMITS.min}
        most={WIDTH_LIMITS.max}
        perPixel={() => (side === "left" ? 1 : -1)}
        keyStep={KEY_STEP}
        resize={(size) => resizePanel(side, size)}
      />
    </div>
  );
}

// --- A panel that is folded away: a narrow edge with a button that opens it.

function Rail({ side }: { side: Side }) {
  const name = panelName(side);
  if (name === undefined) return null;
  return (
    <div class={`rail ${side}`}>
      <button
        class="btn quiet square"
        aria-label={`Show ${name.title.toLowerCase()}`}
        onClick={() => setPanel(side, true)}
      >
        <Icon name={name.icon} />
      </button>
      <span aria-hidden="true">{name.title}</span>
    </div>
  );
}

// --- Hides a panel again, where the page is not wide enough for all of them.

export function HidePanel({ side, label, isAlways = false, style = "" }: { side: Side; label: string; isAlways?: boolean; style?: string }) {
  const isWide = panels.value.width === "wide";
  if (isWide && !isAlways) return null;
  return (
    <button class={`btn quiet square ${style}`} aria-label={label} title={isAlways ? label : undefined} onClick={() => setPanel(side, false)}>
      <Icon name={isWide ? "hideLeft" : "close"} />
    </button>
  );
}
