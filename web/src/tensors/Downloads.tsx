/** Take the values along: as a table, or as an array for NumPy. */
import { useState } from "preact/hooks";
import { fileName, save } from "../files/saving";
import { formatNumberOf } from "../format";
import type { AskableTensor } from "../inspector/subjects";
import type { TensorValues } from "../source/source";
import { windowText } from "../tensor/window";
import { npyOf } from "./npy";
import * as store from "./store";
import { largestWindow, windowCsv, windowShape } from "./windows";

interface Props {
  /** Null where what is here is all there is. */
  subject: AskableTensor | null;
  base: TensorValues;
  /** Says what it is, in the name of the file. */
  suffix?: string;
}

export function Downloads({ subject, base, suffix = "" }: Props) {
  const [fault, setFault] = useState("");
  const { shape, window } = base.view;
  const wanted = subject === null ? window : largestWindow(shape, window.item, window);
  const count = wanted.num_tiles * wanted.num_rows * wanted.num_columns;
  const step = store.records.value[store.at.value]?.step ?? 0;
  const nameOf = (extension: string): string =>
    fileName([store.chosen.value?.name ?? "tensor", "step", `${step}${suffix}`], extension);
  const take = async (write: (values: TensorValues) => void): Promise<void> => {
    const answer = subject === null ? base : await subject.ask(wanted);
    setFault("missing" in answer ? answer.missing : "");
    if ("values" in answer) write(answer);
  };
  const asCsv = (values: TensorValues): void => save(nameOf("csv"), windowCsv(values), "text/csv");
  const asNpy = (values: TensorValues): void =>
    save(
      nameOf("npy"),
      npyOf(values.values, windowShape(values.view.shape, values.view.window)),
      "application/octet-stream",
    );
  return (
    <div class="section downloads">
      <div class="row">
        <span class="muted fs-1 grow clip" title={windowText(shape, wanted)}>
          {formatNumberOf(count, "value")} <span class="mono">{windowText(shape, wanted)}</span>
        </span>
        <button class="btn sm" onClick={() => void take(asCsv)}>
          CSV
        </button>
        <button class="btn sm" onClick={() => void take(asNpy)}>
          NPY
        </button>
      </div>
      {fault !== "" && (
        <p class="hint" role="alert">
          {fault}
        </p>
      )}
    </div>
  );
}
