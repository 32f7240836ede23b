/** The seed of the next Init: another one, or one that somebody writes to see the same again. */
import { useState } from "preact/hooks";
import { Icon } from "../shell/Icon";
import { isSeedChanged, setSeed, shownSeed } from "./drafts";
import { control } from "./store";

/** Short enough to be read out and typed again. */
const NUM_SEEDS = 1_000_000;

export function SeedPart() {
  // What is being typed is not the seed yet.
  const [typed, setTyped] = useState<string | null>(null);
  const isBad = typed !== null && seedIn(typed) === null;
  const isOff = control.value === null;
  return (
    <div class={`group seed-group${isSeedChanged.value ? " changed" : ""}`}>
      <button
        class="btn"
        disabled={isOff}
        title="Another seed for the next Init"
        onClick={() => {
          setTyped(null);
          setSeed(otherSeed(shownSeed.peek()));
        }}
      >
        <Icon name="dice" />
        New seed
      </button>
      <input
        class={`input count-field${isBad ? " bad" : ""}`}
        inputMode="numeric"
        aria-label="Seed"
        disabled={isOff}
        aria-invalid={isBad}
        title={isSeedChanged.value ? "Takes effect at the next Init" : "The seed of this training"}
        value={typed ?? String(shownSeed.value)}
        onInput={(event) => {
          const text = event.currentTarget.value;
          const seed = seedIn(text);
          setTyped(text);
          if (seed !== null) setSeed(seed);
        }}
        onBlur={() => setTyped(null)}
      />
    </div>
  );
}

function seedIn(text: string): number | null {
  const seed = /^\d+$/.test(text.trim()) ? Number(text) : NaN;
  return Number.isSafeInteger(seed) ? seed : null;
}

function otherSeed(seed: number): number {
  const [random] = crypto.getRandomValues(new Uint32Array(1));
  const other = random! % NUM_SEEDS;
  return other === seed ? (other + 1) % NUM_SEEDS : other;
}
