/** Zoom and fit of the drawing. */
import { Icon } from "../../shell/Icon";
import { camera, fit, zoomBy } from "./view";

export function ZoomButtons() {
  return (
    <div class="float learn-zoom" role="toolbar" aria-label="View">
      <button class="btn quiet square" aria-label="Zoom out" title="Zoom out (−)" onClick={() => zoomBy(0.8)}>
        <Sign path="M3.5 8h9" />
      </button>
      <span class="learn-percent" aria-label="Zoom">
        {Math.round(camera.value.scale * 100)} %
      </span>
      <button class="btn quiet square" aria-label="Zoom in" title="Zoom in (+)" onClick={() => zoomBy(1.25)}>
        <Sign path="M3.5 8h9M8 3.5v9" />
      </button>
      <button class="btn quiet square" aria-label="Fit the graph" title="Fit the graph (0)" onClick={fit}>
        <Icon name="frame" />
      </button>
    </div>
  );
}

function Sign({ path }: { path: string }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={path} />
    </svg>
  );
}
