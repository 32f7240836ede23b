/** The seed of the next Init: another one, or one that somebody writes to see the same again. */
import { useEffect, useId, useRef } from "preact/hooks";
import { Icon } from "../shell/Icon";
import { problemAsked } from "./acting";
import { editSeed, isSeedChanged, problems, revertSeed, seedText, shownSeed } from "./drafts";
import { complaint, dismissRefusal } from "./sending";
import { control } from "./store";
import { SEED_REQUIREMENT } from "./values";

/** Short enough to be read out and typed again. */
const NUM_SEEDS = 1_000_000;

export function SeedPart() {
  const noteId = useId();
  const field = useRef<HTMLInputElement>(null);
  const isBad = shownSeed.value === null;
  const isOff = control.value === null;
  const asked = problemAsked.value;
  useEffect(() => {
    // Where the form has problems, too, they come first.
    if (asked > 0 && shownSeed.peek() === null && problems.peek().length === 0) field.current?.focus();
  }, [asked]);
  return (
    <div class={`group seed-group${isSeedChanged.value ? " changed" : ""}`}>
      <button
        class="btn"
        disabled={isOff}
        title="Another seed for the next Init"
        onClick={() => change(String(otherSeed(shownSeed.peek())))}
      >
        <Icon name="dice" />
        New seed
      </button>
      <input
        ref={field}
        class={`input count-field${isBad ? " bad" : ""}`}
        inputMode="numeric"
        aria-label="Seed"
        disabled={isOff}
        aria-invalid={isBad}
        aria-describedby={isBad ? noteId : undefined}
        title={isSeedChanged.value ? "Takes effect at the next Init" : "The seed of this training"}
        value={seedText.value}
        onInput={(event) => change(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape" || !isSeedChanged.peek()) return;
          event.preventDefault();
          event.stopPropagation();
          change(null);
        }}
      />
      {isBad && (
        <span id={noteId} class="hint float seed-note">
          {SEED_REQUIREMENT}
        </span>
      )}
    </div>
  );
}

/** Null takes back what was typed. */
function change(text: string | null): void {
  if (text === null) revertSeed();
  else editSeed(text);
  // What was said of the seed before says nothing of this one.
  if (complaint.peek() !== "") dismissRefusal();
}

function otherSeed(seed: number | null): number {
  const [random] = crypto.getRandomValues(new Uint32Array(1));
  const other = random! % NUM_SEEDS;
  return other === seed ? (other + 1) % NUM_SEEDS : other;
}
