/** Where the value of a parameter is typed or chosen. */
import { apply } from "./acting";
import { edit, revert, type FormRow } from "./drafts";
import { complaint, dismissRefusal, reasonAgainst, refusal } from "./sending";

interface Props {
  id: string;
  row: FormRow;
  isBad: boolean;
  /** Of what is said under it. */
  noteId: string | undefined;
}

export function FieldInput(props: Props) {
  const { field } = props.row;
  if (field.form === "choice") return <Choice {...props} options={field.choices.map((one) => [one, one])} />;
  if (field.form !== "truth") return <Typed {...props} />;
  return field.is_optional ? <Choice {...props} options={TRUTHS} /> : <Ticked {...props} />;
}

const TRUTHS: readonly (readonly [string, string])[] = [
  ["true", "yes"],
  ["false", "no"],
];

function Typed({ id, row: { field, text, isChanged }, isBad, noteId }: Props) {
  return (
    <input
      class="input"
      id={id}
      type="text"
      inputMode={field.form === "text" ? "text" : "decimal"}
      autocomplete="off"
      spellcheck={false}
      aria-invalid={isBad}
      aria-describedby={noteId}
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

function Choice({ id, row: { field, text }, isBad, noteId, options }: Props & { options: typeof TRUTHS }) {
  const isListed = options.some(([value]) => value === text);
  return (
    <select
      class="input"
      id={id}
      aria-invalid={isBad}
      aria-describedby={noteId}
      value={text}
      onChange={(event) => choose(field.name, event.currentTarget.value)}
    >
      {field.is_optional ? <option value="">none</option> : !isListed && <option value={text}>{text}</option>}
      {options.map(([value, title]) => (
        <option key={value} value={value}>
          {title}
        </option>
      ))}
    </select>
  );
}

function Ticked({ id, row: { field, text }, isBad, noteId }: Props) {
  return (
    <span class="num">
      <input
        id={id}
        type="checkbox"
        aria-invalid={isBad}
        aria-describedby={noteId}
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
