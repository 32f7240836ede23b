/** Offered where a lesson takes long: wait no longer for it. */
import { useEffect, useState } from "preact/hooks";
import { cancelOpening } from "./lessons";
import { opening } from "./store";

const PATIENCE_MS = 5000;

export function CancelLoading() {
  const now = opening.value;
  // Which one it is that takes long: another that is asked for meanwhile has its own time.
  const [late, setLate] = useState<typeof now | null>(null);
  useEffect(() => {
    if (now.state !== "loading") return undefined;
    const timer = setTimeout(() => setLate(now), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, [now]);
  if (now.state !== "loading" || late !== now) return null;
  return (
    <button class="btn sm" title={`Stop waiting for ${now.title}`} onClick={cancelOpening}>
      Cancel
    </button>
  );
}
