/** The line icons of the page, by name. */

const PATHS = {
  down: ["m4 6 4 4 4-4"],
  right: ["m6 4 4 4-4 4"],
  left: ["m10 4-4 4 4 4"],
  up: ["m4 10 4-4 4 4"],
  search: ["M7 3a4 4 0 1 1 0 8 4 4 0 0 1 0-8z", "m10.2 10.2 3 3"],
  warning: ["M8 2.5 14 13H2z", "M8 6.5v3M8 11.3v.1"],
  frame: ["M3 6V3h3M10 3h3v3M13 10v3h-3M6 13H3v-3"],
  broken: ["M6.5 9.5 9.5 6.5M7 4.5 8.5 3a3 3 0 0 1 4.5 4.5L11.5 9M9 11.5 7.5 13A3 3 0 0 1 3 8.5L4.5 7"],
  theme: ["M8 2.8a5.2 5.2 0 1 1 0 10.4A5.2 5.2 0 0 1 8 2.8z"],
  close: ["m4 4 8 8M12 4l-8 8"],
  tree: ["M3 4h4M5 4v8h4M5 8h4M11 8h2M11 12h2"],
  details: ["M3 4h10M3 8h10M3 12h6"],
  hideLeft: ["M3 3h10v10H3zM6.5 3v10", "m11 6-2 2 2 2"],
  hideRight: ["M3 3h10v10H3zM9.5 3v10", "m5 6 2 2-2 2"],
  check: ["m3.5 8.5 3 3 6-7"],
  only: ["M8 3a5 5 0 1 1 0 10A5 5 0 0 1 8 3z"],
  eye: [
    "M1.8 8S4 3.8 8 3.8 14.2 8 14.2 8 12 12.2 8 12.2 1.8 8 1.8 8z",
    "M8 6.2a1.8 1.8 0 1 1 0 3.6 1.8 1.8 0 0 1 0-3.6z",
  ],
  eyeOff: [
    "M3 3l10 10",
    "M6.3 4c.5-.1 1.1-.2 1.7-.2 4 0 6.2 4.2 6.2 4.2s-.6 1.1-1.7 2.2",
    "M4.2 5.2C2.6 6.3 1.8 8 1.8 8S4 12.2 8 12.2c1 0 1.9-.3 2.7-.6",
  ],
  camera: [
    "M3.5 4.5h9A1.5 1.5 0 0 1 14 6v5.5a1.5 1.5 0 0 1-1.5 1.5h-9A1.5 1.5 0 0 1 2 11.5V6a1.5 1.5 0 0 1 1.5-1.5z",
    "M8 6.4a2.3 2.3 0 1 1 0 4.6 2.3 2.3 0 0 1 0-4.6z",
    "M6 4.5 6.8 3h2.4l.8 1.5",
  ],
  dots: [],
  more: ["M3.5 8h.1M8 8h.1M12.5 8h.1"],
  columns: [
    "M4 3h8a1.5 1.5 0 0 1 1.5 1.5v7A1.5 1.5 0 0 1 12 13H4a1.5 1.5 0 0 1-1.5-1.500v-7A1.5 1.5 0 0 1 4 3z",
    "M6.2 3v10M9.8 3v10",
  ],
  chart: ["M2.5 2.5v11h11", "m5 10 2.5-3 2.5 1.5 3-4"],
  init: ["M3.5 8a4.5 4.5 0 1 0 1.5-3.4M3.3 2.8v2.7H6"],
  play: [],
  stop: [],
  step: ["M12.5 3.5v9"],
  flask: ["M6.5 2.5h3M7 2.5v4L3.5 12.5c-.3.6 0 1 .6 1h7.8c.6 0 .9-.4.6-1L9 6.5v-4"],
  dice: ["M5 3h6a2 2 0 0 1 2 2v6a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V5a2 2 0 0 1 2-2z"],
  copy: ["M6 5.5h6.5v8H6z", "M10 5.5v-3H3.5v8H6"],
  plus: ["M3.5 8h9M8 3.5v9"],
  minus: ["M3.5 8h9"],
  first: ["M4 4v8M12 4 8 8l4 4"],
  tenBack: ["M8 4 4 8l4 4M12 4 8 8l4 4"],
  tenOn: ["m4 4 4 4-4 4M8 4l4 4-4 4"],
  last: ["M12 4v8M4 4l4 4-4 4"],
  follow: ["M13 4v8M3 8h7M7 5l3 3-3 3"],
  go: [],
  pause: ["M5.5 4v8M10.5 4v8"],
  save: ["M8 2.5v7.5", "m5 7 3 3 3-3", "M3 13h10"],
  table: ["M2.500 3.500h11v9h-11zM2.500 6.500h11M2.500 9.500h11M6.500 3.500v9"],
  newest: ["m4 4 4 4-4 4M12 4v8"],
  playLine: ["M5 3.5v9l7.5-4.5z"],
  keys: ["M2 5h12v7H2z", "M4.5 7.5h.1M7 7.5h.1M9.500 7.500h.1M11.8 7.500h.1M5 10h6"],
} as const;

export type IconName = keyof typeof PATHS;

/** What is filled of an icon, beside its lines. */
const SOLID: Partial<Record<IconName, string>> = {
  only: "M8 6a2 2 0 1 1 0 4 2 2 0 0 1 0-4z",
  theme: "M8 2.8a5.2 5.2 0 0 1 0 10.4z",
  dots: "M3.500 6.800a1.200 1.200 0 1 1 0 2.400 1.200 1.200 0 0 1 0-2.400zm4.500 0a1.200 1.200 0 1 1 0 2.400 1.200 1.200 0 0 1 0-2.400zm4.500 0a1.200 1.200 0 1 1 0 2.400 1.200 1.200 0 0 1 0-2.400z",
  play: "M5 3.2v9.6c0 .6.6.9 1.1.6l7-4.8c.4-.3.4-.9 0-1.2l-7-4.8C5.6 2.3 5 2.6 5 3.2z",
  go: "M5 3.5v9l7-4.5z",
  stop: "M5.5 4h5A1.5 1.5 0 0 1 12 5.5v5a1.5 1.5 0 0 1-1.5 1.5h-5A1.5 1.5 0 0 1 4 10.5v-5A1.5 1.5 0 0 1 5.5 4z",
  step: "M3.5 3.6v8.8c0 .5.5.7.9.5l5.6-4.4c.3-.3.3-.7 0-1L4.4 3.1c-.4-.2-.9 0-.9.5z",
  dice: "M5 6a1 1 0 1 0 2 0 1 1 0 1 0-2 0zM9 6a1 1 0 1 0 2 0 1 1 0 1 0-2 0zM5 10a1 1 0 1 0 2 0 1 1 0 1 0-2 0zM9 10a1 1 0 1 0 2 0 1 1 0 1 0-2 0z",
};

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      {PATHS[name].map((path) => (
        <path key={path} d={path} />
      ))}
      {SOLID[name] !== undefined && <path class="solid" d={SOLID[name]} />}
    </svg>
  );
}
