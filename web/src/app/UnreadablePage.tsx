/** A page that is one file and whose data cannot be read: why, and what to do about it. */
import * as store from "../data/store";
import { Blank } from "../ui/Blank";

export function UnreadablePage() {
  const opening = store.opening.value;
  if (opening.state !== "failed") return <main class="main" />;
  return (
    <main class="main">
      <Blank icon="warning" title={`${opening.name} cannot be shown`} isError>
        <span>{opening.reason}</span>
      </Blank>
    </main>
  );
}
