/** Which columns of a table are shown. */
import { Icon } from "../../shell/Icon";
import { Popover } from "../../shell/Popover";
import { chooseColumn, forgetChoices, type ShownColumn } from "./columns";

interface Props {
  table: string;
  columns: readonly ShownColumn[];
}

export function ColumnChooser({ table, columns }: Props) {
  const tensors = columns.filter(({ form }) => form === "tensor");
  const others = columns.filter(({ form }) => form !== "tensor");
  return (
    <div class="column-chooser">
      <Popover
        label={`Columns of ${table}`}
        button={
          <>
            <Icon name="columns" />
            <span class="sr">Columns</span>
          </>
        }
      >
        <div class="column-list">
          {tensors.length > 0 && <h3>Tensors</h3>}
          <Boxes table={table} columns={tensors} />
          <h3>Columns</h3>
          <Boxes table={table} columns={others} />
          <button class="link fs-1" onClick={() => forgetChoices(table)}>
            As at first
          </button>
        </div>
      </Popover>
    </div>
  );
}

function Boxes({ table, columns }: Props) {
  return columns.map(({ key, title, isShown }) => (
    <label key={key} class="check" title={title}>
      <input type="checkbox" checked={isShown} onChange={(event) => chooseColumn(table, key, event.currentTarget.checked)} />
      <span class="clip">{title}</span>
    </label>
  ));
}
