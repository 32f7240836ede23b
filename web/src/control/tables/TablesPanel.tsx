/** The tables of a training: epochs, tests and runs at the left, the trials of the last test at the right. */
import { useWidth } from "../../measuring/useWidth";
import { chooseTable, chosenTable } from "./showing";
import { TableTabs } from "./TableTabs";
import { RUNS, tableTitle, TEST_EPOCHS, TEST_TRIALS, TRAIN_EPOCHS, useOtherTables } from "./tablelist";
import { TableView } from "./TableView";
import "./tables.css";

/** Narrower than this there is room for one only. */
const TWO = 800;

export function TablesPanel() {
  const [box, width] = useWidth<HTMLElement>(1200);
  const others = useOtherTables().value;
  const isWide = width >= TWO;
  const left = [TRAIN_EPOCHS, ...(isWide ? [] : [TEST_TRIALS]), TEST_EPOCHS, RUNS, ...others];
  const chosen = chosenTable.value;
  const name = left.includes(chosen) ? chosen : TRAIN_EPOCHS;
  return (
    <section ref={box} class={isWide ? "control-tables two" : "control-tables"} aria-label="Tables">
      <div class="panel">
        <TableView
          key={name}
          name={name}
          isTab
          title={(count) => <TableTabs names={left} chosen={name} count={count} choose={chooseTable} />}
        />
      </div>
      {isWide && (
        <div class="panel">
          <TableView
            name={TEST_TRIALS}
            title={(count) => (
              <>
                <h2>{tableTitle(TEST_TRIALS)}</h2>
                <span class="muted fs-1 clip">{count}</span>
              </>
            )}
          />
        </div>
      )}
    </section>
  );
}
