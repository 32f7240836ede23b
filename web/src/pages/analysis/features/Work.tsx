/** How far something is, with a way to stop it; or why there is nothing, with a way to try again. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { formatCount, formatShare } from "../../../data/format";
import { sentence } from "../../../data/network/words";
import { setParams } from "../../../data/route";
import { Blank } from "../../../ui/Blank";
import { Select } from "../../../ui/Select";
import { Failure, Figure } from "../Figure";
import type { Followed } from "./follow";
import * as store from "./store";

/** After so long it can be cancelled. */
const CANCEL_MS = 3000;

interface Props {
  what: string;
  of: Pick<Followed<unknown>, "progress" | "since" | "note" | "problem" | "isCancelled" | "retry" | "cancel">;
}

interface FigureProps<Value> {
  label: string;
  name: string;
  what: string;
  of: Followed<Value>;
  /** How many samples there were. */
  numThen: number;
  controls?: ComponentChildren;
  facts: (value: Value) => string;
  draw: (value: Value) => ComponentChildren;
}

/** A picture; what came before is paler, while the next one is on its way. */
export function WorkFigure<Value>({ label, name, what, of, numThen, controls, facts, draw }: FigureProps<Value>) {
  const { value, isOwn } = of;
  const isShown = value !== null && (isOwn || (of.problem === "" && !of.isCancelled));
  return (
    <Figure
      label={label}
      name={name}
      isBusy={of.progress !== null}
      controls={controls}
      facts={isShown && isOwn && facts(value)}
      aside={isShown && (isOwn ? <MoreSamples numThen={numThen} again={of.retry} /> : <WorkLine what={what} of={of} />)}
    >
      {isShown ? <div class={isOwn ? "ft-body" : "ft-body old"}>{draw(value)}</div> : <Work what={what} of={of} />}
    </Figure>
  );
}

/** In the place of a picture that is not there yet. */
export function Work({ what, of }: Props) {
  if (of.problem !== "") return <Failure title="This cannot be shown" problem={of.problem} retry={of.retry} />;
  if (of.isCancelled) {
    return (
      <Blank icon="stop" title="Cancelled">
        <button class="btn" onClick={of.retry}>
          Compute it
        </button>
      </Blank>
    );
  }
  return (
    <div class="blank late" aria-busy="true">
      <Bar what={what} of={of} />
    </div>
  );
}

/** Beside a picture that is there in part, or still that of before. */
export function WorkLine({ what, of }: Props) {
  if (of.problem !== "") {
    return (
      <span class="hint" role="alert">
        {sentence(of.problem)}{" "}
        <button class="link" onClick={of.retry}>
          Try again
        </button>
      </span>
    );
  }
  if (of.isCancelled) {
    return (
      <span class="muted fs-1">
        Cancelled.{" "}
        <button class="link" onClick={of.retry}>
          Go on
        </button>
      </span>
    );
  }
  if (of.progress === null) return null;
  return (
    <span class="ft-working late" role="status">
      <Bar what={what} of={of} />
    </span>
  );
}

function Bar({ what, of }: Props) {
  const share = of.progress ?? 0;
  const isLong = useIsLong(of.since);
  return (
    <>
      <span>
        {what} · {formatShare(share, 1)}
      </span>
      <div class="bar" role="progressbar" aria-label={what} aria-valuenow={Math.round(share * 100)}>
        <i style={{ width: `${Math.max(2, share * 100)}%` }} />
      </div>
      {of.note !== "" && <span class="muted">{of.note}</span>}
      {isLong && (
        <button class="btn sm" onClick={of.cancel}>
          Cancel
        </button>
      )}
    </>
  );
}

function useIsLong(since: number): boolean {
  const [isLong, setIsLong] = useState(false);
  useEffect(() => {
    setIsLong(false);
    const timer = setTimeout(() => setIsLong(true), CANCEL_MS);
    return () => clearTimeout(timer);
  }, [since]);
  return isLong;
}

// --- Said of what was computed while an extraction goes on: there are more samples by now.

export function MoreSamples({ numThen, again }: { numThen: number; again: () => void }) {
  const now = store.listing.value?.num_done ?? 0;
  if (now <= numThen) return null;
  return (
    <span class="muted fs-1 ft-more">
      {formatCount(now - numThen)} samples have come since.{" "}
      <button class="link" onClick={again}>
        Update
      </button>
    </span>
  );
}

// --- One of several numbers to choose: how many samples, how many folds.

interface ChoiceProps {
  name: string;
  /** In the address. */
  param: string;
  value: number;
  usual: number;
  choices: readonly number[];
  /** Those above it are all there are. */
  all?: number;
}

export function Choice({ name, param, value, usual, choices, all = store.listing.value?.num_done ?? 0 }: ChoiceProps) {
  // One that is enough for all of them is the last that makes a difference.
  const enough = choices.findIndex((one) => one >= all);
  const shown = enough < 0 ? choices : choices.slice(0, enough + 1);
  const chosen = shown.includes(value) ? value : (shown.at(-1) ?? value);
  return (
    <label class="ft-choice">
      <span>{name}</span>
      <Select
        value={String(chosen)}
        options={shown.map((one) => [String(one), one >= all ? `all ${formatCount(all)}` : formatCount(one)])}
        set={(next) => setParams({ [param]: Number(next) === usual ? null : next })}
      />
    </label>
  );
}
