/** A small button that is an icon, with its name for everybody who cannot see it. */

interface Props {
  glyph: GlyphName;
  name: string;
  press: () => void;
  isPressed?: boolean;
  isDisabled?: boolean;
}

export function ToolButton({ glyph, name, press, isPressed, isDisabled = false }: Props) {
  return (
    <button
      class="btn quiet sm square"
      aria-label={name}
      title={name}
      aria-pressed={isPressed}
      disabled={isDisabled}
      onClick={press}
    >
      <Glyph name={glyph} />
    </button>
  );
}

// --- Line icons that only the sections need.

const PATHS = {
  save: ["M8 2.5v7.5", "m5 7 3 3 3-3", "M3 13h10"],
  play: ["M5 3.5v9l7.5-4.5z"],
  pause: ["M5.5 3.5v9M10.5 3.5v9"],
  newest: ["m4 4 4 4-4 4M12 4v8"],
  plus: ["M8 3v10M3 8h10"],
  minus: ["M3 8h10"],
  fit: ["M3 6V3h3M10 3h3v3M13 10v3h-3M6 13H3v-3"],
  table: ["M2.500 3.500h11v9h-11zM2.500 6.500h11M2.500 9.500h11M6.500 3.500v9"],
} as const;

type GlyphName = keyof typeof PATHS;

function Glyph({ name }: { name: GlyphName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      {PATHS[name].map((path) => (
        <path key={path} d={path} />
      ))}
    </svg>
  );
}
