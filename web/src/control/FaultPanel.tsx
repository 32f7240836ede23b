/** What went wrong in the training, and where. What was seen of it stays below. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../shell/Icon";
import type { ControlState, Fault } from "../wire";
import { control } from "./store";
import { faultTitle } from "./wording";

export function FaultPanel() {
  const [state, fault] = [control.value?.listing.state, control.value?.fault ?? null];
  if (fault === null || (state !== "failed" && state !== "died")) return null;
  return <Said state={state} fault={fault} />;
}

function Said({ state, fault }: { state: ControlState; fault: Fault }) {
  const [isOpen, setIsOpen] = useState(true);
  const what = state === "died" ? "output" : "traceback";
  return (
    <section class="fault" aria-label="What went wrong">
      <div class="fault-head">
        <Icon name="warning" />
        <div class="grow">
          <b>{faultTitle(state, fault)}</b>
          {fault.message !== "" && <p class="fault-message">{fault.message}</p>}
          <p class="dim">
            {fault.place !== "" && <span class="mono">{fault.place}. </span>}
            Tables and plots keep their last state; Init begins anew, with the file as it is then.
          </p>
        </div>
        {fault.trace !== "" && (
          <>
            <CopyButton text={fault.trace} what={what} />
            <button class="btn sm" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
              {isOpen ? "Hide" : "Show"} {what}
            </button>
          </>
        )}
      </div>
      {isOpen && fault.trace !== "" && <Trace text={fault.trace} label={state === "died" ? "Output" : "Traceback"} />}
    </section>
  );
}

function Trace({ text, label }: { text: string; label: string }) {
  const box = useRef<HTMLPreElement>(null);
  // What matters most stands at its end.
  useLayoutEffect(() => box.current?.scrollTo(0, box.current.scrollHeight), [text]);
  return (
    <pre class="fault-trace" ref={box} tabIndex={0} role="region" aria-label={label}>
      {text}
    </pre>
  );
}

const COPIED_MS = 2000;

function CopyButton({ text, what }: { text: string; what: string }) {
  const [word, setWord] = useState("Copy");
  useEffect(() => {
    if (word === "Copy") return undefined;
    const timer = setTimeout(() => setWord("Copy"), COPIED_MS);
    return () => clearTimeout(timer);
  }, [word]);
  const copy = (): void => {
    // Pages that did not come from this machine may have no clipboard.
    const { clipboard } = navigator as { clipboard?: Clipboard };
    if (clipboard === undefined) setWord("Not allowed");
    else clipboard.writeText(text).then(() => setWord("Copied"), () => setWord("Not allowed"));
  };
  return (
    <button class="btn sm" aria-label={word === "Copy" ? `Copy the ${what}` : word} onClick={copy}>
      <Icon name="copy" />
      {word}
    </button>
  );
}
