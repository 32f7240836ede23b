/** Why the last thing that was asked of the training was not done, where that is of no one parameter. */
import { Icon } from "../shell/Icon";
import { complaint, dismissRefusal, refusal } from "./sending";
import { about } from "./store";

export function RefusalStrip() {
  const text = complaint.value || general();
  if (text === "") return null;
  return (
    <div class="strip control-refusal" role="alert">
      <span class="grow">{text}</span>
      <button class="btn quiet square sm" aria-label="Dismiss" onClick={dismissRefusal}>
        <Icon name="close" />
      </button>
    </div>
  );
}

/** What is said of a parameter stands under it, where it is in the form. */
function general(): string {
  const { field, text } = refusal.value;
  if (about.value?.fields.some(({ name }) => name === field) === true) return "";
  return field === "" ? text : `${field} ${text}`;
}
