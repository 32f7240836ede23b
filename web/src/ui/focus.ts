/** Who uses the mouse means the network with the next key, and not the button that was pressed last. */

const PRESSED = "button, [role=radio], input[type=radio], input[type=checkbox]";
/** What is open keeps its keys, and so does what opened it. */
const OPENED = "dialog, .picker, .popover, [role=dialog], [role=listbox], [aria-haspopup]";

/** After a click of the mouse; those of the keyboard have no count, and leave the focus where it is. */
export function returnFocus({ target, detail, currentTarget }: Pick<MouseEvent, "target" | "detail" | "currentTarget">): void {
  if (detail === 0 || !(target instanceof Element)) return;
  const pressed = target.closest<HTMLElement>(PRESSED);
  if (pressed?.closest(OPENED) !== null) return;
  // Some lead somewhere else: there it stays.
  const focused = document.activeElement;
  if (focused !== pressed && focused !== document.body) return;
  const drawing = currentTarget instanceof Element ? currentTarget.querySelector<HTMLElement>(".net-stage canvas.above") : null;
  if (drawing !== null) drawing.focus({ preventScroll: true });
  else pressed.blur();
}
