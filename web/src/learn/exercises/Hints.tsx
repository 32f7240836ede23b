/** Hints, one more with each press; after the last of them the solution. */
import type { Hole } from "../../wire";
import { isRight, numHints, takeHint } from "./state";

export function Hints({ hole }: { hole: Hole }) {
  const taken = numHints(hole.symbol);
  const isAll = taken >= hole.hints.length;
  const isSolution = taken > hole.hints.length;
  return (
    <div class="hints">
      <ol aria-live="polite">
        {hole.hints.slice(0, taken).map((hint) => (
          <li key={hint}>{hint}</li>
        ))}
        {isSolution && (
          <li>
            Solution: <code>{hole.solution}</code>
          </li>
        )}
      </ol>
      {!isSolution && !isRight(hole.symbol) && (
        <button class="link" type="button" aria-label={labelOf(hole, taken)} onClick={() => takeHint(hole.symbol)}>
          {isAll ? "Show the solution" : taken === 0 ? "Hint" : `Hint ${taken + 1} of ${hole.hints.length}`}
        </button>
      )}
    </div>
  );
}

function labelOf({ symbol, hints }: Hole, taken: number): string {
  return taken >= hints.length
    ? `Show the solution for the gradient of ${symbol}`
    : `Hint ${taken + 1} of ${hints.length} for the gradient of ${symbol}`;
}
