/** What went wrong, in a sentence; nothing where the text is empty. */
import type { ComponentChildren } from "preact";

export function Hint({ text, children }: { text: string; children?: ComponentChildren }) {
  if (text === "") return null;
  return (
    <p class="hint" role="alert">
      {text} {children}
    </p>
  );
}
