/** The signs on the buttons of the time bar. */

const PATHS = {
  first: "M4 4v8M12 4 8 8l4 4",
  tenBack: "M8 4 4 8l4 4M12 4 8 8l4 4",
  back: "m10 4-4 4 4 4",
  on: "m6 4 4 4-4 4",
  tenOn: "m4 4 4 4-4 4M8 4l4 4-4 4",
  last: "M12 4v8M4 4l4 4-4 4",
  follow: "M13 4v8M3 8h7M7 5l3 3-3 3",
} as const;

export type TimeIconName = keyof typeof PATHS | "play" | "pause";

export function TimeIcon({ name }: { name: TimeIconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      {name === "play" ? (
        <path class="solid" d="M5 3.5v9l7-4.5z" />
      ) : name === "pause" ? (
        <path d="M5.5 4v8M10.5 4v8" />
      ) : (
        <path d={PATHS[name]} />
      )}
    </svg>
  );
}
