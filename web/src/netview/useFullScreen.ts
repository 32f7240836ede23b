/** The page on the whole screen, and back. */
import { useEffect, useState } from "preact/hooks";

/** Whether it is, and the way to the other; null where the browser allows none, as in a frame of another page. */
export function useFullScreen(): [isFull: boolean, toggle: (() => void) | null] {
  const [isFull, setIsFull] = useState(document.fullscreenElement !== null);
  useEffect(() => {
    const look = (): void => setIsFull(document.fullscreenElement !== null);
    document.addEventListener("fullscreenchange", look);
    return () => document.removeEventListener("fullscreenchange", look);
  }, []);
  return [isFull, document.fullscreenEnabled ? () => void toggle() : null];
}

async function toggle(): Promise<void> {
  try {
    if (document.fullscreenElement !== null) await document.exitFullscreen();
    else await document.querySelector(".netview")?.requestFullscreen();
  } catch {
    // Somebody refused it: then it stays as it is.
  }
}
