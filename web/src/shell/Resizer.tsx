/** The edge between a panel and the drawing: drag it, or move it with the arrow keys. */
import { panelName } from "./panelnames";
import { panelWidth, resizePanel, WIDTH_LIMITS, type Side } from "./panels";

const KEY_STEP = 16;

export function Resizer({ side }: { side: Side }) {
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
