/** A panel beside the drawing, a rail that opens it, or a sheet over the drawing. */
import type { ComponentChildren } from "preact";
import { Icon } from "./Icon";
import { panelName, panels, panelWidth, resizePanel, setPanel, type Side, WIDTH_LIMITS } from "./panels";

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
      <Resizer side={side} />
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

// --- The edge between a panel and the drawing: drag it, or move it with the arrow keys.

const KEY_STEP = 16;

function Resizer({ side }: { side: Side }) {
  const width = panelWidth.value[side];
  const sign = side === "left" ? 1 : -1;
  const onPointerDown = (event: PointerEvent): void => {
    if (!(event.currentTarget instanceof HTMLElement)) return;
    event.preventDefault();
    const handle = event.currentTarget;
    const [startX, startWidth] = [event.clientX, width];
    handle.setPointerCapture(event.pointerId);
    const onMove = (move: PointerEvent): void =>
      resizePanel(side, startWidth + sign * (move.clientX - startX));
    const onUp = (): void => {
      handle.removeEventListener("pointermove", onMove);
      handle.removeEventListener("pointerup", onUp);
      handle.removeEventListener("pointercancel", onUp);
    };
    handle.addEventListener("pointermove", onMove);
    handle.addEventListener("pointerup", onUp);
    handle.addEventListener("pointercancel", onUp);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const steps: Record<string, number> = { ArrowRight: sign * KEY_STEP, ArrowLeft: -sign * KEY_STEP };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    resizePanel(side, width + step);
  };
  return (
    <div
      class={`resizer ${side}`}
      role="separator"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label={`Width of ${panelName(side)?.phrase ?? "the panel"}`}
      aria-valuenow={width}
      aria-valuemin={WIDTH_LIMITS.min}
      aria-valuemax={WIDTH_LIMITS.max}
      onPointerDown={onPointerDown}
      onKeyDown={onKeyDown}
    />
  );
}
