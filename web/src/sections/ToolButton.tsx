/** A small button that is an icon, with its name for everybody who cannot see it. */
import { Glyph, type GlyphName } from "./Glyph";

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
