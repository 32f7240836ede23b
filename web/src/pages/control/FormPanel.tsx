/** The parameters by their sections, and how many of them are other than what is in force. */
import { groupBy } from "../../data/collections";
import { useEffect, useId, useRef } from "preact/hooks";
import { about } from "../../data/control";
import { formatCount } from "../../data/format";
import { ActButton } from "../../ui/ActButton";
import { Skeletons } from "../../ui/Blank";
import { Icon } from "../../ui/Icon";
import { HidePanel } from "../../ui/PanelPlace";
import { Select } from "../../ui/Select";
import { TextField } from "../../ui/controls";
import type { FormField } from "../../wire";
import { apply, problemAsked, reasonAgainst, refusal, retype } from "./commands";
import { changed, edit, type FormRow, liveValues, revertAll, rows, seed, writeValue } from "./drafts";

export function FormPanel() {
  const body = useRef<HTMLDivElement>(null);
  const asked = problemAsked.value;
  // The first field that cannot be as it is comes into view, when somebody wants to go on with it.
  useEffect(() => {
    if (asked > 0) body.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [asked]);
  const numChanged = changed.value.length;
  return (
    <aside class="panel control-form" aria-label="Parameters">
      <div class="panel-head">
        <h2>Parameters</h2>
        <span class="muted fs-1 grow clip num">{numChanged > 0 && `${formatCount(numChanged)} changed`}</span>
        <ActButton style="sm" against={againstApply()} hint="The live ones take effect at once" act={() => apply()}>
          Apply
        </ActButton>
        <HidePanel side="left" label="Hide the parameters" isAlways style="sm" />
      </div>
      <div class="panel-body" ref={body}>
        {about.value === null && <Skeletons widths={[96, 72, 120, 84, 104]} label="Reading the parameters" />}
        {[...groupBy(rows.value, ({ field }) => field.section)].map(([title, its]) => (
          <div key={title} class="section" role="group" aria-label={title || "Other parameters"}>
            {title !== "" && <h3>{title}</h3>}
            {its.map((row) => (
              <FormRowView key={row.field.name} row={row} />
            ))}
          </div>
        ))}
      </div>
      <Foot />
    </aside>
  );
}

/** What was typed and is not in force, and how to be rid of it. */
function Foot() {
  const { isChanged: isSeedChanged } = seed.value;
  if (changed.value.length === 0 && !isSeedChanged) return null;
  const numWaiting = changed.value.filter(({ field }) => !field.is_live).length + (isSeedChanged ? 1 : 0);
  return (
    <footer class="form-foot">
      <button class="btn quiet sm" onClick={revertAll}>
        <Icon name="init" />
        Revert all
      </button>
      <span class="grow" />
      {numWaiting > 0 && <span class="muted fs-1">{formatCount(numWaiting)} at the next Init</span>}
    </footer>
  );
}

function againstApply(): string {
  const live = changed.value.filter(({ field }) => field.is_live);
  if (live.length === 0) return changed.value.length === 0 ? "Nothing was changed." : "What was changed takes effect at the next Init.";
  if (Object.keys(liveValues()).length === 0) return "A live parameter cannot be as it is written.";
  return reasonAgainst("set");
}

/** One parameter: its name, its value, and whether that is in force. */
function FormRowView({ row }: { row: FormRow }) {
  const id = useId();
  const { field, isChanged } = row;
  const problem = problemOf(row);
  const note = problem || noteOf(row);
  const noteId = note === "" ? undefined : `${id}-note`;
  const common = { id, "aria-invalid": problem !== "", "aria-describedby": noteId };
  return (
    <div class={`field${isChanged ? " changed" : ""}${problem === "" ? "" : " bad"}`}>
      <div class="field-name">
        <label id={`${id}-label`} for={id} title={hintOf(field)}>
          {field.label}
        </label>
        {isChanged && <RevertButton row={row} labelId={`${id}-label`} />}
      </div>
      <FieldInput row={row} common={common} />
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
      onClick={() => edit(field.name, null)}
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
    isTyped ? field.requirement : "",
    field.is_live ? "takes effect at once" : "takes effect at the next Init",
    `in the code: ${field.name} = ${writeValue(field.value) || "None"}`,
  ];
  return parts.filter((part) => part !== "").join("\n");
}

interface InputProps {
  row: FormRow;
  common: { id: string; "aria-invalid": boolean; "aria-describedby": string | undefined };
}

const TRUTHS: readonly (readonly [string, string])[] = [
  ["true", "yes"],
  ["false", "no"],
];

/** Where the value of a parameter is typed or chosen. */
function FieldInput({ row, common }: InputProps) {
  const { form, is_optional, choices, name } = row.field;
  if (form !== "choice" && form !== "truth") return <Typed row={row} common={common} />;
  const set = (text: string): void => choose(name, text);
  if (form === "truth" && !is_optional) {
    return (
      <span class="num">
        <input
          {...common}
          type="checkbox"
          checked={row.text === "true"}
          onChange={(event) => set(String(event.currentTarget.checked))}
        />
      </span>
    );
  }
  const listed = form === "truth" ? TRUTHS : choices.map((one) => [one, one] as const);
  const isListed = listed.some(([value]) => value === row.text);
  const other = is_optional ? [["", "none"] as const] : isListed ? [] : [[row.text, row.text] as const];
  return <Select {...common} value={row.text} options={[...other, ...listed]} set={set} />;
}

function Typed({ row: { field, text, isChanged }, common }: InputProps) {
  return (
    <TextField
      {...common}
      type="text"
      inputMode={field.form === "text" ? "text" : "decimal"}
      autocomplete="off"
      spellcheck={false}
      isBad={common["aria-invalid"]}
      value={text}
      set={(typed) => retype(field.name, typed)}
      keys={{ Enter: () => apply(field.name), Escape: isChanged ? () => edit(field.name, null) : undefined }}
    />
  );
}

/** What is chosen is chosen: there is nothing more to type. */
function choose(name: string, text: string): void {
  retype(name, text);
  if (reasonAgainst("set") === "") apply(name);
}
