/** Zoom and fit of the drawing. */
import { FitButton } from "../../shell/FitButton";
import { ZoomButtons } from "../../shell/ZoomButtons";
import { camera, fit, zoomBy } from "./view";

export function ZoomBar() {
  return (
    <div class="float learn-zoom" role="toolbar" aria-label="View">
      <ZoomButtons scale={camera.value.scale} zoomBy={zoomBy} />
      <FitButton fit={fit} />
    </div>
  );
}
