/** A table as a file: all of its rows, with the numbers of its tensors. */
import { useState } from "preact/hooks";
import { fileName, save } from "../../files/saving";
import { isConnected } from "../../runs/states";
import * as runs from "../../runs/store";
import { askOf } from "../../sections/asking";
import { control } from "../store";
import type { TableWish } from "./tablefeed";

export function SaveButton({ wish }: { wish: TableWish }) {
  const [isBusy, setIsBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const press = (): void => {
    setIsBusy(true);
    setProblem("");
    saveCsv(wish)
      .catch((reason: unknown) => setProblem(reason instanceof Error ? reason.message : String(reason)))
      .finally(() => setIsBusy(false));
  };
  return (
    <>
      {problem !== "" && (
        <span class="hint clip" role="alert" title={problem}>
          {problem}
        </span>
      )}
      <button
        class="btn quiet sm"
        disabled={isBusy || !isConnected.value}
        title={isConnected.value ? undefined : "The connection to the server is lost."}
        onClick={press}
      >
        Save as CSV
      </button>
    </>
  );
}

async function saveCsv({ name, runIds, isOnlyLast }: TableWish): Promise<void> {
  const { answer } = await askOf({ type: "table_text", run_ids: [...runIds], name, only_last: isOnlyLast }, "table_text");
  save(fileName([name, sourceName(runIds)], "csv"), answer.text, "text/csv");
}

/** Of one run its name; of several what their names have in common, which is the folder of the Init. */
export function sourceName(runIds: readonly string[]): string {
  const names = runIds.flatMap((id) => runs.runsById.peek().get(id)?.name ?? []);
  const common = names.length === 1 ? names[0]! : commonFolder(names);
  return common === "" ? (control.peek()?.listing.name ?? "") : common;
}

export function commonFolder(names: readonly string[]): string {
  const [first = [], ...others] = names.map((name) => name.split("/").slice(0, -1));
  const end = first.findIndex((part, at) => others.some((other) => other[at] !== part));
  return (end < 0 ? first : first.slice(0, end)).join("/");
}
