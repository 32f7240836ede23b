/** Texts of one series: one step at a time or the last ones below each other, the runs side by side. */
import { useRef, useState } from "preact/hooks";
import { formatCount } from "../../../data/format";
import { fileName, save } from "../../../data/save-file";
import { Figure, RunTag, ToolButton, Waiting } from "../../../plot/Figure";
import { textForm, textLayout } from "../../../plot/figure-options";
import { holdersOf, useFullRecords, useRecords } from "../../../plot/useRecords";
import { useNear } from "../../../ui/useWidth";
import type { RecordListing, RunListing } from "../../../wire";
import { stepByKey, StepSlider } from "../Series";
import { Markdown } from "./Markdown";

const PAGE = 10;

export function TextSeries({ name }: { name: string }) {
  const place = useRef<HTMLElement>(null);
  const isNear = useNear(place);
  const [numShown, setNumShown] = useState(PAGE);
  const holders = holdersOf("text", name);
  const stepped = useRecords("text", name, holders, isNear);
  const isList = textLayout.chosen === "list";
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
              const all = isList ? stepped.recordsOf(run.id).slice(-numShown).reverse() : [now];
              const shown = all.filter((one) => one !== null);
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

const MAX_SHOWN = 20_000; // characters; of more, only the beginning

interface Props {
  name: string;
  run: RunListing;
  listing: RecordListing;
  isNear: boolean;
}

/** The text of one record, plain or as Markdown. */
function OneText({ name, run, listing, isNear }: Props) {
  const { value, problem, retry } = useFullRecords([{ runId: run.id, listing }], isNear);
  const record = value?.get(run.id);
  if (record === undefined) return <Waiting problem={problem} height={48} retry={retry} />;
  // What is no UTF-8 shows as the sign for it.
  const whole = new TextDecoder().decode(record.bytes);
  const text = whole.slice(0, MAX_SHOWN);
  const { step } = record.entry;
  return (
    <article>
      <div class="sec-one-head">
        <span class="muted fs-1">step {formatCount(step)}</span>
        <ToolButton
          glyph="save"
          name={`Save ${name} of ${run.name} at step ${formatCount(step)}`}
          press={() => save(fileName([run.name, name, step], "txt"), record.bytes, "text/plain")}
        />
      </div>
      {textForm.chosen === "markdown" ? <Markdown source={text} /> : <pre class="sec-plain">{text}</pre>}
      {whole.length > MAX_SHOWN && (
        <p class="muted fs-1">
          The first {formatCount(MAX_SHOWN)} of {formatCount(whole.length)} characters; saving it gives all.
        </p>
      )}
    </article>
  );
}
