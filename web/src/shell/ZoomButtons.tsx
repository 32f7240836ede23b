/** In and out of a drawing, and how near one is. */
export function ZoomButtons({ scale, zoomBy }: { scale: number; zoomBy: (factor: number) => void }) {
  return (
    <>
      <button class="btn quiet square" aria-label="Zoom out" title="Zoom out (−)" onClick={() => zoomBy(0.8)}>
        <Sign path="M3.5 8h9" />
      </button>
      <span class="zoom-percent" aria-label="Zoom">
        {Math.round(scale * 100)} %
      </span>
      <button class="btn quiet square" aria-label="Zoom in" title="Zoom in (+)" onClick={() => zoomBy(1.25)}>
        <Sign path="M3.5 8h9M8 3.5v9" />
      </button>
    </>
  );
}

function Sign({ path }: { path: string }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={path} />
    </svg>
  );
}
