/** Texts of one series: one step at a time or the last ones below each other, the runs side by side. */
import { useRef, useState } from "preact/hooks";
import { formatCount } from "../../format";
import { Figure } from "../Figure";
import { textLayout } from "../options";
import { RunTag } from "../RunTag";
import { holdersOf } from "../series";
import { StepSlider, stepByKey } from "../StepSlider";
import { useNear } from "../../measuring/useNear";
import { useRecords } from "../useRecords";
import { Waiting } from "../Waiting";
import { OneText } from "./OneText";

const PAGE = 10;

export function TextSeries({ name }: { name: string }) {
  const place = useRef<HTMLElement>(null);
  const isNear = useNear(place);
  const [numShown, setNumShown] = useState(PAGE);
  const holders = holdersOf("text", name);
  const stepped = useRecords("text", name, holders, isNear);
  const isList = textLayout.value === "list";
  const most = Math.max(0, ...holders.map(({ run }) => stepped.recordsOf(run.id).length));
  return (
    <Figure
      place={place}
      title={name}
      span={2 * holders.length}
      onKeyDown={(event) => stepByKey(event, stepped)}
    >
      {stepped.state !== "shown" ? (
        <Waiting problem={stepped.problem} height={96} retry={stepped.retry} />
      ) : (
        <>
          <div class="sec-side wide">
            {holders.map(({ run }) => {
              const now = stepped.recordOf(run.id);
              const shown = isList
                ? stepped.recordsOf(run.id).slice(-numShown).reverse()
                : now === null
                  ? []
                  : [now];
              return (
                <div key={run.id} class="sec-one">
                  {holders.length > 1 && <RunTag run={run} />}
                  <div class="sec-texts" tabIndex={0} role="region" aria-label={`${name} of ${run.name}`}>
                    {shown.length === 0 && (
                      <p class="muted fs-1">begins later than step {formatCount(stepped.step)}</p>
                    )}
                    {shown.map((listing, nth) => (
                      <OneText
                        key={isList ? listing.record : nth}
                        name={name}
                        run={run}
                        listing={listing}
                        isNear={isNear}
                      />
                    ))}
                  </div>
                </div>
              );
            })}
          </div>
          {isList && most > numShown && (
            <button class="btn sm sec-more" onClick={() => setNumShown(numShown + PAGE)}>
              Show {formatCount(Math.min(PAGE, most - numShown))} more
            </button>
          )}
          {!isList && <StepSlider name={name} stepped={stepped} />}
        </>
      )}
    </Figure>
  );
}
