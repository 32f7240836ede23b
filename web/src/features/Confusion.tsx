/** Which labels a probe takes for which others: a row for each right label, a column for what was said. */
import { useMemo, useState } from "preact/hooks";
import { formatCount, formatNumberOf, formatShare } from "../format";
import { rangeOf } from "../netanalysis/colours";
import { stepClass, type Scale } from "../tensor/colour";
import type { FeatureProbe } from "../wire";
import * as store from "./store";

/** Numbers can be read in cells of this many labels. */
const MOST_NUMBERS = 16;

export function Confusion({ probe }: { probe: FeatureProbe | undefined }) {
  const name = store.layer.value?.name ?? "";
  return (
    <section class="an-figure ft-confusion" aria-label="Confusions">
      <header>
        <h3 class="clip" title={name}>
          {name}
        </h3>
        <span class="muted fs-1 clip">{probe?.why === "" && probe.metric === "accuracy" && "right label down, what was said across"}</span>
      </header>
      {probe === undefined && <p class="muted fs-2">Not probed yet.</p>}
      {probe !== undefined && (probe.confusion.length > 0 ? <Matrix probe={probe} /> : <Instead probe={probe} />)}
    </section>
  );
}

function Instead({ probe }: { probe: FeatureProbe }) {
  if (probe.why !== "") return <p class="hint">{probe.why}</p>;
  const units = formatNumberOf(probe.num_units, "unit");
  return (
    <p class="muted fs-2">
      {probe.metric === "r2"
        ? `R² is the share of the variance of the labels that is read from ${units}: 1 is all, 0 is no more than their mean.`
        : "There are too many labels for a table of confusions."}
    </p>
  );
}

function Matrix({ probe }: { probe: FeatureProbe }) {
  const { labels, confusion } = probe;
  const [at, setAt] = useState<readonly [number, number] | null>(null);
  const totals = useMemo(() => confusion.map((row) => row.reduce((sum, one) => sum + one, 0)), [confusion]);
  const wrong = confusion.flatMap((row, right) => row.filter((_, said) => said !== right));
  // Confusions are few beside what is right: these have a scale of their own.
  const scale: Scale = { map: "seq", low: 0, high: Math.max(1, rangeOf(wrong)?.max ?? 1) };
  const hasNumbers = labels.length <= MOST_NUMBERS;
  const numRight = confusion.reduce((sum, row, right) => sum + (row[right] ?? 0), 0);
  const all = totals.reduce((sum, one) => sum + one, 0);
  const cell = (right: number, said: number): string =>
    `${labels[right] ?? ""} taken for ${labels[said] ?? ""}: ${formatCount(confusion[right]?.[said] ?? 0)} of ${formatCount(totals[right] ?? 0)}`;
  return (
    <>
      <div class="ft-cells">
        <table class={hasNumbers ? "an-cells numbers ft-square" : "an-cells ft-square"} aria-label="Confusions" onPointerLeave={() => setAt(null)}>
          <thead>
            <tr>
              <th />
              {labels.map((label, said) => (
                <th key={said} scope="col" title={label} class="ft-across">
                  <span>{hasNumbers ? label : ""}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {confusion.map((row, right) => (
              <tr key={right}>
                <th scope="row" title={labels[right]}>
                  <span>
                    <bdi>{labels[right]}</bdi>
                  </span>
                </th>
                {row.map((count, said) => (
                  <td
                    key={said}
                    class={right === said ? "ft-right" : count === 0 ? "ft-zero" : `cell ${stepClass(scale, count)}`}
                    title={cell(right, said)}
                    onPointerEnter={() => setAt([right, said])}
                  >
                    {hasNumbers && (count > 0 || right === said) ? formatCount(count) : ""}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="an-reading">
        {at === null ? (
          <span class="muted">
            {formatCount(numRight)} of {formatCount(all)} right ({formatShare(numRight, all)}), from {formatNumberOf(probe.num_units, "unit")}
          </span>
        ) : (
          <span>{cell(...at)}</span>
        )}
      </p>
    </>
  );
}
