/** Stands beside the drawing, and tells that it is there: it has then opened its first groups. */
import { useEffect } from "preact/hooks";
import { setDrawn } from "./graphplace";

export function GraphPlace() {
  useEffect(() => {
    setDrawn(true);
    return () => setDrawn(false);
  }, []);
  return null;
}
