/** The tools over the drawing: dimensions, camera, how points are chosen, the table. */
import type { RefObject } from "preact";
import { setParams } from "../route";
import { Icon } from "../shell/Icon";
import type { Cloud } from "./cloud";
import type { Shape } from "./pointing";
import { fit, zoomBy } from "./stagekeys";
import { Segments } from "../shell/Segments";
import * as store from "./store";

interface Props {
  cloud: RefObject<Cloud | null>;
  shape: Shape;
  onShape: (shape: Shape) => void;
  isTurning: boolean;
  onTurning: (isTurning: boolean) => void;
}

export function StageBar({ cloud, shape, onShape, isTurning, onTurning }: Props) {
  const act = (action: (made: Cloud) => void) => (): void => {
    if (cloud.current !== null) action(cloud.current);
  };
  return (
    <div class="float cloud-bar" role="toolbar" aria-label="View of the points">
      <DimsSwitch />
      <span class="sep" />
      <button class="btn quiet square" aria-label="Zoom out" title="Zoom out (−)" onClick={act((c) => zoomBy(c, 0.8))}>
        <Sign path="M3.5 8h9" />
      </button>
      <button class="btn quiet square" aria-label="Zoom in" title="Zoom in (+)" onClick={act((c) => zoomBy(c, 1.25))}>
        <Sign path="M3.5 8h9M8 3.5v9" />
      </button>
      <button class="btn quiet square" aria-label="Fit the points" title="Fit the points (0)" onClick={act(fit)}>
        <Icon name="frame" />
      </button>
      {store.dims.value === 3 && (
        <button
          class="btn quiet square"
          aria-label="Turn slowly"
          title="Turn slowly"
          aria-pressed={isTurning}
          onClick={() => onTurning(!isTurning)}
        >
          <Sign path="M12.500 5.500A5 5 0 1 0 13 8M13 3v2.800h-2.800" />
        </button>
      )}
      <span class="sep" />
      <button
        class="btn quiet square"
        aria-label="Select with a box"
        title="Shift and drag: a box"
        aria-pressed={shape === "box"}
        onClick={() => onShape("box")}
      >
        <Sign path="M3 5V3h2M8 3h1M12 3h1v2M13 8v1M13 12v1h-1M9 13H8M5 13H3v-1M3 9V8" />
      </button>
      <button
        class="btn quiet square"
        aria-label="Select with a lasso"
        title="Shift and drag: a lasso"
        aria-pressed={shape === "lasso"}
        onClick={() => onShape("lasso")}
      >
        <Sign path="M8 3c3.300 0 5.500 1.500 5.500 3.500S11.300 10 8 10 2.500 8.500 2.500 6.500 4.700 3 8 3zM5 9.500c-1.500 1-1 2.500.5 2.500s1.500 1.500.5 2" />
      </button>
    </div>
  );
}

const DIMS = [
  ["2", "2D", "2 dimensions (2)"],
  ["3", "3D", "3 dimensions (3)"],
] as const;

export function DimsSwitch() {
  return (
    <Segments
      label="Dimensions"
      words={DIMS}
      chosen={store.dims.value === 2 ? "2" : "3"}
      choose={(dims) => setParams({ dims: dims === "3" ? null : dims })}
    />
  );
}

function Sign({ path }: { path: string }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={path} />
    </svg>
  );
}
