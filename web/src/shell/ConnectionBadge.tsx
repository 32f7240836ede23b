/** A word in the top bar: is there a server behind this page? */
import * as store from "../store";

const WORDS = {
  "one-file": ["one file", "badge"],
  connecting: ["connecting", "badge"],
  connected: ["connected", "badge"],
  lost: ["connection lost", "badge warn"],
  refused: ["not admitted", "badge warn"],
} as const;

export function ConnectionBadge() {
  const connection = store.source.value?.connection.value;
  if (connection === undefined) return null;
  const [word, style] = WORDS[connection.state];
  return (
    <span class={style} role="status">
      <i class="dot" />
      {word}
    </span>
  );
}
