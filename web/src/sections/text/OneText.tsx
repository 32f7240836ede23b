/** The text of one record, plain or as Markdown. */
import { formatCount } from "../../format";
import type { RecordListing, RunListing } from "../../wire";
import { textForm } from "../options";
import { fileName, save } from "../../files/saving";
import { ToolButton } from "../ToolButton";
import { useFullRecords } from "../useFullRecords";
import { Waiting } from "../Waiting";
import { Markdown } from "./Markdown";

const MAX_SHOWN = 20_000; // characters; of more, only the beginning

interface Props {
  name: string;
  run: RunListing;
  listing: RecordListing;
  isNear: boolean;
}

export function OneText({ name, run, listing, isNear }: Props) {
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
      {textForm.value === "markdown" ? <Markdown source={text} /> : <pre class="sec-plain">{text}</pre>}
      {whole.length > MAX_SHOWN && (
        <p class="muted fs-1">
          The first {formatCount(MAX_SHOWN)} of {formatCount(whole.length)} characters; saving it gives all.
        </p>
      )}
    </article>
  );
}
