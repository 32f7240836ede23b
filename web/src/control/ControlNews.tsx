/** Says to those who listen that the state of the training has changed. Counters are not said. */
import { useEffect, useState } from "preact/hooks";
import { control } from "./store";
import { sentenceOf } from "./wording";

/** What lasts no longer is not worth saying: a step of one trial is over before. */
const SETTLED_MS = 250;

export function ControlNews() {
  const now = control.value;
  const sentence = now === null ? "" : sentenceOf(now.listing, now.fault);
  const [said, setSaid] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setSaid(sentence), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [sentence]);
  return (
    <div class="sr" role="status" aria-label="State of the training">
      {said}
    </div>
  );
}
