/** A panel beside the drawing, a rail that opens it, or a sheet over the drawing. */
import type { ComponentChildren } from "preact";
import { IconButton } from "./IconButton";
import { Separator } from "./Separator";
import { panelName, panels, panelWidth, resizePanel, setPanel, type Side, WIDTH_LIMITS } from "./panels";

const KEY_STEP = 16;

export function PanelPlace({ side, children }: { side: Side; children: ComponentChildren }) {
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
        {...WIDTH_LIMITS}
        perPixel={() => (side === "left" ? 1 : -1)}
        keyStep={KEY_STEP}
        resize={(size) => resizePanel(side, size)}
      />
    </div>
  );
}

/** A panel that is folded away: a narrow edge with a button that opens it. */
function Rail({ side }: { side: Side }) {
  const name = panelName(side);
  if (name === undefined) return null;
  return (
    <div class={`rail ${side}`}>
      <IconButton
        icon={name.icon}
        label={`Show ${name.title.toLowerCase()}`}
        look="btn quiet square"
        onClick={() => setPanel(side, true)}
      />
      <span aria-hidden="true">{name.title}</span>
    </div>
  );
}

interface HideProps {
  side: Side;
  label: string;
  isAlways?: boolean;
  style?: string;
}

/** Hides a panel again, where the page is not wide enough for all of them. */
export function HidePanel({ side, label, isAlways = false, style = "" }: HideProps) {
  const isWide = panels.value.width === "wide";
  if (isWide && !isAlways) return null;
  const [icon, title] = [isWide ? "hideLeft" : "close", isAlways ? label : undefined] as const;
  return <IconButton icon={icon} label={label} title={title} look={`btn quiet square ${style}`} onClick={() => setPanel(side, false)} />;
}
