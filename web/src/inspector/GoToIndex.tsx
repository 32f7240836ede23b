/** A field for an index: `0, 17, 12, 4`. */
import { useState } from "preact/hooks";

interface Props {
  shape: readonly number[];
  /** Goes there, or says in a sentence why not. */
  onGo: (index: readonly number[]) => string;
}

export function GoToIndex({ shape, onGo }: Props) {
  const [error, setError] = useState("");
  const go = (text: string): void => {
    const parts = text
      .replace(/^\s*\[|\]\s*$/g, "")
      .split(/[\s,]+/)
      .filter(Boolean);
    if (parts.length === 0) setError("");
    else if (parts.every((part) => /^\d+$/.test(part))) setError(onGo(parts.map(Number)));
    else setError("An index is whole numbers, one for each dimension.");
  };
  return (
    <span class="go-to">
      <input
        class={error === "" ? "input sm mono" : "input sm mono bad"}
        type="text"
        aria-label="Go to index"
        aria-invalid={error !== ""}
        placeholder={shape.map(() => "0").join(", ")}
        onKeyDown={(event) => {
          if (event.key === "Enter") go(event.currentTarget.value);
        }}
        onChange={(event) => go(event.currentTarget.value)}
      />
      {error !== "" && (
        <span class="hint" role="alert">
          {error}
        </span>
      )}
    </span>
  );
}
