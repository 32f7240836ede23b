/** The line of source that made an op, among its neighbours, and the calls that led to it. */
import { formatNumberOf } from "../../../data/format";
import { Section } from "../../../plot/tensor/Facts";
import type { PassDocument, SourceEntry } from "../../../wire";

interface Props {
  document: PassDocument;
  source: number;
  stack: readonly number[];
}

export function SourceLines({ document, source, stack }: Props) {
  const entry = document.sources[source];
  if (entry === undefined) return null;
  const calls = stack.map((at) => document.sources[at]).filter((call) => call !== undefined);
  return (
    <Section title="Source" remark={<span title={`${entry.file}:${entry.line}`}>{placeText(entry)}</span>}>
      <Lines entry={entry} />
      {calls.length > 1 && (
        <details class="stack-calls">
          <summary>{formatNumberOf(calls.length, "call")} to here, innermost first</summary>
          <ol>
            {calls.map((call, at) => (
              <li key={at} class={call === entry ? "on" : ""}>
                <span class="mono clip" title={`${call.file}:${call.line}`}>
                  {placeText(call)}
                </span>
                <span class="muted clip">{call.function}</span>
                <code class="clip" title={call.text}>
                  {call.text.trim()}
                </code>
              </li>
            ))}
          </ol>
        </details>
      )}
    </Section>
  );
}

function Lines({ entry }: { entry: SourceEntry }) {
  const lines = entry.context.length > 0 ? entry.context : [entry.text];
  const start = entry.context.length > 0 ? entry.context_start : entry.line;
  const width = String(start + lines.length - 1).length;
  return (
    <div class="snippet source" role="group" aria-label={`Line ${entry.line}`} tabIndex={0}>
      {lines.map((line, at) => (
        <div key={at} class={start + at === entry.line ? "on" : ""} aria-current={start + at === entry.line}>
          <span class="line-number">{String(start + at).padStart(width)}</span>
          {line}
        </div>
      ))}
    </div>
  );
}

/** The last two parts of the path, and the line. */
function placeText({ file, line }: SourceEntry): string {
  return `${file.split(/[\\/]/).slice(-2).join("/")}:${line}`;
}
