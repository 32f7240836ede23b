/** The pass as a whole: how it ended, what there is to note, and its facts. */
import { formatBytes, formatCount, formatLarge, formatNumberOf, formatSeconds } from "../format";
import { backwardSeconds, numCalls } from "../modules/PassReadout";
import * as store from "../store";
import type { PassDocument } from "../wire";
import { Facts } from "./Facts";
import { Head } from "./Head";
import { Links } from "./Links";
import { OpLink } from "./OpLink";
import { RaisedNotice } from "./RaisedNotice";
import { Section } from "./Section";

export function PassInspector({ document }: { document: PassDocument }) {
  const notes = [...document.notes, ...store.pageNotes.value];
  const numModuleCalls = document.scopes.filter((scope) => scope.address !== null).length;
  const ends = (kind: "input" | "output"): number[] =>
    document.ops.flatMap((op, index) => (op.kind === kind ? [index] : []));
  return (
    <>
      <Head title={document.model_name}>
        pass · {formatNumberOf(numCalls(document), "op")} · {formatNumberOf(numModuleCalls, "module call")}
      </Head>
      <div class="panel-body">
        {document.error !== "" && <RaisedNotice document={document} />}
        {document.stopped_after !== "" && (
          <Section title="Ended early">
            <p class="fs-2">
              As asked, after <span class="mono">{document.stopped_after}</span>.
            </p>
          </Section>
        )}
        {notes.length > 0 && (
          <Section title="Notes">
            <ul class="notes">
              {notes.map((note, at) => (
                <li key={at}>{note}</li>
              ))}
            </ul>
          </Section>
        )}
        <Section title="Pass">
          <Facts
            facts={[
              ["tensors, with inputs, outputs, buffers", formatCount(document.ops.length)],
              ["parameters", formatLarge(document.num_params)],
              ["their memory", formatBytes(document.param_bytes)],
              [
                "forward time",
                document.is_shape_only ? "shapes only" : formatSeconds(document.elapsed_seconds),
              ],
              document.num_backward_passes > 0 && [
                "backward passes",
                formatCount(document.num_backward_passes),
              ],
              document.num_backward_passes > 0 && ["backward time", formatSeconds(backwardSeconds(document))],
              ["memory of outputs", formatBytes(document.num_bytes)],
              ["random seed", store.seed.value],
            ]}
          />
        </Section>
        <Section title="Inputs and outputs">
          <Facts
            facts={[
              [
                "inputs",
                <Links
                  items={ends("input").map((index) => (
                    <OpLink index={index} text={nameOf(document, index)} />
                  ))}
                />,
              ],
              [
                "outputs",
                <Links
                  items={ends("output").map((index) => (
                    <OpLink index={index} text={nameOf(document, index)} />
                  ))}
                />,
              ],
            ]}
          />
        </Section>
        <p class="section muted fs-2">
          Select a node to see its tensor, its source line and what is known of it. <kbd>?</kbd> shows all
          keys.
        </p>
      </div>
    </>
  );
}

function nameOf(document: PassDocument, index: number): string {
  const op = document.ops[index]!;
  return op.name === "" ? op.label : op.name;
}
