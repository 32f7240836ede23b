/** Says that the connection is lost, since when, and when it is tried again. */
import { useEffect, useState } from "preact/hooks";
import { formatClock } from "../format";
import { runs } from "../runs/store";
import type { Connection } from "../source/source";
import * as store from "../store";
import { Icon } from "./Icon";

export function ConnectionToast() {
  const connection = store.source.value?.connection.value;
  const shown = useLastTrouble(connection);
  if (shown === null) return null;
  return (
    <div class="toast" role="status" data-testid="connection-toast">
      <Icon name="broken" />
      {shown.state === "refused" ? <Refused /> : <Lost connection={shown} />}
      <button class="btn sm" onClick={() => store.source.value?.retryNow()}>
        Try now
      </button>
    </div>
  );
}

type Trouble = Extract<Connection, { state: "lost" | "refused" }>;

/** While a new attempt is under way the toast stays as it was, so that it does not flicker. */
function useLastTrouble(connection: Connection | undefined): Trouble | null {
  const [last, setLast] = useState<Trouble | null>(null);
  useEffect(() => {
    if (connection?.state === "lost" || connection?.state === "refused") setLast(connection);
    else if (connection?.state !== "connecting") setLast(null);
  }, [connection]);
  if (connection?.state === "connecting") return last;
  return connection?.state === "lost" || connection?.state === "refused" ? connection : null;
}

function Refused() {
  return (
    <span>
      <b>The server does not know this page.</b>{" "}
      <span class="dim">It was started anew: open the address that the server printed.</span>
    </span>
  );
}

function Lost({ connection }: { connection: Extract<Connection, { state: "lost" }> }) {
  const seconds = useSecondsUntil(connection.retryAt);
  const when = seconds > 0 ? `Trying again in ${seconds} s.` : "Trying again.";
  const hasValues = store.document.value !== null || runs.value.length > 0;
  const values = hasValues ? `Showing values from ${formatClock(connection.lastHeard)}. ` : "";
  return (
    <span>
      <b>Connection lost.</b>{" "}
      <span class="dim">
        {values}
        {/* The countdown is for the eye: a screen reader would be told every second. */}
        <span aria-hidden="true">{when}</span>
      </span>
    </span>
  );
}

function useSecondsUntil(when: number): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 250);
    return () => clearInterval(timer);
  }, [when]);
  return Math.max(0, Math.ceil((when - now) / 1000));
}
