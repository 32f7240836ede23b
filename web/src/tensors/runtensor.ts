/** A tensor of a run, asked for by its record. */
import { AnswerCache } from "../source/cache";
import { valuesOf } from "../source/framing";
import type { Source, TensorAnswer } from "../source/source";
import type { AskableTensor } from "../inspector/subjects";
import type { Window } from "../wire";

const cache = new AnswerCache();

export function runTensor(source: Source, runId: string, record: string): AskableTensor {
  return { key: `${runId} ${record}`, ask: (window) => askFor(source, runId, record, window) };
}

async function askFor(
  source: Source,
  runId: string,
  record: string,
  window: Window | null,
): Promise<TensorAnswer> {
  const key = JSON.stringify([runId, record, window]);
  const known = cache.get(key);
  if (known !== undefined) return known;
  try {
    const { answer, buffer, offset } = await source.ask({ type: "run_tensor", run_id: runId, record, window });
    if (answer.type !== "tensor") return { missing: `The server answered with ${answer.type}.` };
    const found = { view: answer.view, values: valuesOf(answer.view, buffer, offset) };
    cache.set(key, found);
    return found;
  } catch (reason) {
    // Not kept: the next time it may be there.
    return { missing: reason instanceof Error ? reason.message : String(reason) };
  }
}
