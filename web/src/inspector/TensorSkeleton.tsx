/** The place of a tensor while it is on its way. */
import * as store from "../store";

export function TensorSkeleton() {
  const connection = store.source.value?.connection.value.state;
  const isWaiting = connection === "lost" || connection === "refused" || connection === "connecting";
  return (
    <div class="section late" aria-busy="true" aria-label="Loading the tensor">
      <i class="skeleton" style={{ width: "72px" }} />
      <i class="skeleton block" />
      <i class="skeleton" style={{ width: "96px" }} />
      <i class="skeleton block low" />
      {isWaiting && (
        <p class="muted fs-2">
          Not fetched before the connection was lost; it comes when the server is back.
        </p>
      )}
    </div>
  );
}
