/** The parameters by their sections, and how many of them are other than what is in force. */
import { groupBy } from "../../data/collections";
import { useEffect, useId, useRef } from "preact/hooks";
import { about } from "../../data/control";
import { formatCount } from "../../data/format";
import { ActButton } from "../../ui/ActButton";
import { Skeletons } from "../../ui/Blank";
import { Icon } from "../../ui/Icon";
import { HidePanel } from "../../ui/PanelPlace";
import type { FormField } from "../../wire";
import { apply, complaint, dismissRefusal, problemAsked, reasonAgainst, refusal } from "./commands";
import {
  changed,
  edit,
  type FormRow,
  isSeedChanged,
  liveValues,
  requirementOf,
  revert,
  revertAll,
  rows,
  writeValue,
} from "./drafts";

export function FormPanel() {
  const body = useRef<HTMLDivElement>(null);
  useShownProblem(body);
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
        {sectionsOf(rows.value).map(([title, its]) => (
          <Section key={title} title={title} rows={its} />
        ))}
      </div>
      <Foot />
    </aside>
  );
}

/** What was typed and is not in force, and how to be rid of it. */
function Foot() {
  if (changed.value.length === 0 && !isSeedChanged.value) return null;
  const numWaiting = changed.value.filter(({ field }) => !field.is_live).length + (isSeedChanged.value ? 1 : 0);
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

/** Why there is nothing to apply. */
function againstApply(): string {
  const live = changed.value.filter(({ field }) => field.is_live);
  if (live.length === 0) return changed.value.length === 0 ? "Nothing was changed." : "What was changed takes effect at the next Init.";
  if (Object.keys(liveValues()).length === 0) return "A live parameter cannot be as it is written.";
  return reasonAgainst("set");
}

function Section({ title, rows: its }: { title: string; rows: readonly FormRow[] }) {
  return (
    <div class="section" role="group" aria-label={title || "Other parameters"}>
      {title !== "" && <h3>{title}</h3>}
      {its.map((row) => (
        <FormRowView key={row.field.name} row={row} />
      ))}
    </div>
  );
}

/** In the order in which each section comes up first. */
function sectionsOf(all: readonly FormRow[]): [string, FormRow[]][] {
  return [...groupBy(all, ({ field }) => field.section)];
}

/** Bring the first field that cannot be as it is into view, when somebody wants to go on with it. */
function useShownProblem(body: { readonly current: HTMLElement | null }): void {
  const asked = problemAsked.value;
  useEffect(() => {
    if (asked > 0) body.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [asked]);
}

// --- One parameter: its name, its value, and whether that is in force.

function FormRowView({ row }: { row: FormRow }) {
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

// --- Where the value of a parameter is typed or chosen.

interface Props {
  id: string;
  row: FormRow;
  isBad: boolean;
  /** Of what is said under it. */
  noteId: string | undefined;
}

function FieldInput({ id, row, isBad, noteId }: Props) {
  const { form, is_optional, choices } = row.field;
  const common = { id, "aria-invalid": isBad, "aria-describedby": noteId };
  if (form === "choice") return <Choice row={row} common={common} options={choices.map((one) => [one, one])} />;
  if (form !== "truth") return <Typed row={row} common={common} />;
  return is_optional ? <Choice row={row} common={common} options={TRUTHS} /> : <Ticked row={row} common={common} />;
}

interface InputProps {
  row: FormRow;
  common: { id: string; "aria-invalid": boolean; "aria-describedby": string | undefined };
}

const TRUTHS: readonly (readonly [string, string])[] = [
  ["true", "yes"],
  ["false", "no"],
];

function Typed({ row: { field, text, isChanged }, common }: InputProps) {
  return (
    <input
      {...common}
      class="input"
      type="text"
      inputMode={field.form === "text" ? "text" : "decimal"}
      autocomplete="off"
      spellcheck={false}
      value={text}
      onInput={(event) => change(field.name, event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === "Enter") apply(field.name);
        if (event.key !== "Escape" || !isChanged) return;
        event.preventDefault();
        event.stopPropagation();
        revert(field.name);
      }}
    />
  );
}

function Choice({ row: { field, text }, common, options }: InputProps & { options: typeof TRUTHS }) {
  const isListed = options.some(([value]) => value === text);
  return (
    <select {...common} class="input" value={text} onChange={(event) => choose(field.name, event.currentTarget.value)}>
      {field.is_optional ? <option value="">none</option> : !isListed && <option value={text}>{text}</option>}
      {options.map(([value, title]) => (
        <option key={value} value={value}>
          {title}
        </option>
      ))}
    </select>
  );
}

function Ticked({ row: { field, text }, common }: InputProps) {
  return (
    <span class="num">
      <input
        {...common}
        type="checkbox"
        checked={text === "true"}
        onChange={(event) => choose(field.name, String(event.currentTarget.checked))}
      />
    </span>
  );
}

function change(name: string, text: string): void {
  edit(name, text);
  // What was said of the form before says nothing of this one.
  if (refusal.peek().field === name || complaint.peek() !== "") dismissRefusal();
}

/** What is chosen is chosen: there is nothing more to type. */
function choose(name: string, text: string): void {
  change(name, text);
  if (reasonAgainst("set") === "") apply(name);
}
