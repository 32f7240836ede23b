/** What went wrong in the training, and where. What was seen of it stays below. */
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../shell/Icon";
import type { ControlState, Fault } from "../wire";
import { control } from "./store";
import { faultTitle, startOfPlace } from "./wording";

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
      {isOpen && fault.trace !== "" && <Trace fault={fault} isOutput={state === "died"} />}
    </section>
  );
}

/** Above the line that it begins with, in pixels. */
const MARGIN = 8;

function Trace({ fault: { trace, place }, isOutput }: { fault: Fault; isOutput: boolean }) {
  const box = useRef<HTMLPreElement>(null);
  const line = useRef<HTMLElement>(null);
  const at = isOutput ? startOfPlace(trace, place) : -1;
  // What matters most stands at its end, but for what Python says of a crash: there it is the line that crashed.
  useLayoutEffect(() => {
    const [outer, inner] = [box.current, line.current];
    if (outer !== null) outer.scrollTop = inner === null ? outer.scrollHeight : inner.offsetTop - MARGIN;
  }, [trace, at]);
  return (
    <pre class="fault-trace" ref={box} tabIndex={0} role="region" aria-label={isOutput ? "Output" : "Traceback"}>
      {at < 0 ? trace : <Marked text={trace} at={at} lineRef={line} />}
    </pre>
  );
}

function Marked({ text, at, lineRef }: { text: string; at: number; lineRef: RefObject<HTMLElement | null> }) {
  const end = text.indexOf("\n", at);
  const to = end < 0 ? text.length : end;
  return (
    <>
      {text.slice(0, at)}
      <b ref={lineRef}>{text.slice(at, to)}</b>
      {text.slice(to)}
    </>
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
