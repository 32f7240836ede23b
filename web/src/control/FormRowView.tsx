/** One parameter: its name, its value, and whether that is in force. */
import { useId } from "preact/hooks";
import { Icon } from "../shell/Icon";
import type { FormField } from "../wire";
import { revert, type FormRow } from "./drafts";
import { FieldInput } from "./FieldInput";
import { reasonAgainst, refusal } from "./sending";
import { requirementOf, writeValue } from "./values";

export function FormRowView({ row }: { row: FormRow }) {
  const id = useId();
  const { field, isChanged } = row;
  const problem = problemOf(row);
  const note = problem || noteOf(row);
  const noteId = note === "" ? undefined : `${id}-note`;
  return (
    <div class={`field${isChanged ? " changed" : ""}${problem === "" ? "" : " bad"}`}>
      <div class="field-name">
        <label id={`${id}-label`} for={id} title={hintOf(field)}>
          {field.label}
        </label>
        {isChanged && <RevertButton row={row} labelId={`${id}-label`} />}
      </div>
      <FieldInput id={id} row={row} isBad={problem !== ""} noteId={noteId} />
      {noteId !== undefined && (
        <span id={noteId} class={problem === "" ? "field-note" : "hint"}>
          {note}
        </span>
      )}
    </div>
  );
}

/** A dot that says that the value is not in force; under the pointer, what takes it back. */
function RevertButton({ row: { field, inForce }, labelId }: { row: FormRow; labelId: string }) {
  const words = `Revert to ${writeValue(inForce) || "nothing"}`;
  return (
    <button
      class="revert"
      aria-label={words}
      // The name of the parameter alone is the name of its field.
      aria-describedby={labelId}
      title={words}
      onClick={() => revert(field.name)}
    >
      <Icon name="init" />
    </button>
  );
}

function problemOf({ field, reading }: FormRow): string {
  if ("problem" in reading) return reading.problem;
  return refusal.value.field === field.name ? refusal.value.text : "";
}

/** When a value will be in force that is not yet. */
function noteOf({ field, isChanged }: FormRow): string {
  if (!isChanged || (field.is_live && reasonAgainst("set") === "")) return "";
  return "at the next Init";
}

function hintOf(field: FormField): string {
  const isTyped = field.form === "integer" || field.form === "number";
  const parts = [
    field.about,
    isTyped ? requirementOf(field) : "",
    field.is_live ? "takes effect at once" : "takes effect at the next Init",
    `in the code: ${field.name} = ${writeValue(field.value) || "None"}`,
  ];
  return parts.filter((part) => part !== "").join("\n");
}
