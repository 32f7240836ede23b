/** Which runs and which columns are looked at. */
import { Segments } from "../shell/Segments";
import type { Column } from "./columns";
import { byItself, columns } from "./sheet";
import { hidesSame, isChosenOnly, isColumnShown, setChosenOnly, setColumnShown, setHidesSame } from "./state";

export function ParametersOptions() {
  const all = columns.value;
  return (
    <section class="section parameters-options" aria-label="Parameters">
      <h3>Parameters</h3>
      <Segments
        label="Which runs"
        words={[
          ["all", "All runs"],
          ["chosen", "Chosen"],
        ]}
        chosen={isChosenOnly.value ? "chosen" : "all"}
        choose={(word) => setChosenOnly(word === "chosen")}
      />
      <label class="check">
        <input
          type="checkbox"
          checked={hidesSame.value}
          onChange={(event) => setHidesSame(event.currentTarget.checked)}
        />
        Hide what does not differ
      </label>
      <ColumnBoxes title="Hyperparameters" columns={all.filter(({ family }) => family === "hparam")} />
      <ColumnBoxes title="Metrics" columns={all.filter(({ family }) => family === "metric")} />
    </section>
  );
}

function ColumnBoxes({ title, columns: some }: { title: string; columns: readonly Column[] }) {
  if (some.length === 0) return null;
  return (
    <fieldset class="par-columns">
      <legend>{title}</legend>
      {some.map(({ key, name }) => {
        const isByItself = byItself.value.has(key);
        return (
          <label key={key} class="check" title={name}>
            <input
              type="checkbox"
              checked={isColumnShown(key, isByItself)}
              onChange={(event) => setColumnShown(key, event.currentTarget.checked, isByItself)}
            />
            <span class="clip">{name}</span>
          </label>
        );
      })}
    </fieldset>
  );
}
