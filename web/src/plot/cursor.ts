/** The step under the pointer, in whichever picture or chart it is: all of them mark it. */
import { computed } from "@preact/signals";
import { options } from "./scalars/options";
import { cursor } from "./scalars/state";

/** Charts over time have a cursor too, but it stands at no step. */
const isShared = computed(() => options.value.axis === "step" && options.value.hasSharedCursor);

export const cursorStep = computed<number | null>(() => (isShared.value ? (cursor.value?.x ?? null) : null));

/** The pointer is at a step of a picture, or at none any more. */
export function pointAt(step: number | null, picture: string): void {
  if (!isShared.peek()) return;
  if (step !== null) cursor.value = { x: step, chart: picture };
  else if (cursor.peek()?.chart === picture) cursor.value = null;
}
