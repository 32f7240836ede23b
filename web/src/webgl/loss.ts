/** A drawing hears when its graphics card is gone, and when it is back. */

/** The browser may take the graphics card away; it says when it is back. */
export function followLoss(element: HTMLCanvasElement, onLost: () => void, onBack: () => void): () => void {
  const lost = (event: Event): void => {
    event.preventDefault();
    onLost();
  };
  element.addEventListener("webglcontextlost", lost);
  element.addEventListener("webglcontextrestored", onBack);
  return () => {
    element.removeEventListener("webglcontextlost", lost);
    element.removeEventListener("webglcontextrestored", onBack);
  };
}
