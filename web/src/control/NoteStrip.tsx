/** What a person should know of the training, until they have read it. */
import { sentence } from "../netview/wording";
import { Icon } from "../shell/Icon";
import { dismissNotes, shownNotes } from "./notes";

export function NoteStrip() {
  const notes = shownNotes.value;
  if (notes.length === 0) return null;
  return (
    <div class="strip control-note" role="status" aria-label="Notes of the training">
      <div class="grow">
        {notes.map((note) => (
          <p key={note}>{sentence(note)}</p>
        ))}
      </div>
      <button class="btn quiet square sm" aria-label="Dismiss the notes" title="Dismiss" onClick={dismissNotes}>
        <Icon name="close" />
      </button>
    </div>
  );
}
