/** A training in another process: what can be done with it, its parameters, and what is seen of it. */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { about, control, controls, failure, followControl } from "../../data/control";
import { sentence } from "../../data/network/words";
import * as page from "../../data/store";
import { Blank } from "../../ui/Blank";
import { Icon } from "../../ui/Icon";
import { IconButton } from "../../ui/IconButton";
import { PanelPlace } from "../../ui/PanelPlace";
import { usePageKeys } from "../../ui/keys";
import { panels, panelWidth } from "../../ui/panels";
import type { Fault } from "../../wire";
import { FormPanel } from "./FormPanel";
import { Toolbar } from "./Toolbar";
import { Workspace } from "./Workspace";
import { complaint, dismissNotes, dismissRefusal, refusal, run, shownNotes, step, stop } from "./commands";
import { settleDrafts } from "./drafts";
import { faultTitle, sentenceOf } from "./listings";
import "./control.css";

export function ControlPage() {
  const source = page.source.value;
  useEffect(() => {
    if (source === null) return undefined;
    const stops = [followControl(source), settleDrafts()];
    return () => stops.forEach((end) => end());
  }, [source]);
  usePageKeys(actOnKey);
  const instead = insteadOfAny();
  if (instead !== null) {
    return (
      <main class="main control-nothing">
        <h1 class="sr">Control</h1>
        {instead}
      </main>
    );
  }
  return (
    <main class={`main control ${panels.value.width}`} style={{ "--left": `${panelWidth.value.left}px` }}>
      <h1 class="sr">Control</h1>
      <Toolbar />
      <PanelPlace side="left">
        <FormPanel />
      </PanelPlace>
      <div class="control-middle">
        <RefusalStrip />
        <NoteStrip />
        <FaultPanel />
        <Workspace />
      </div>
      <ControlNews />
    </main>
  );
}

/** What stands there where there is no training; null where there is one. */
function insteadOfAny(): ComponentChildren {
  if (controls.value?.length === 0) {
    return (
      <Blank icon="play" title="Nothing to control here">
        <span>A training that can be stepped is named when the server is started:</span>
        <pre>torcheer control examples/etra25.py:loop</pre>
      </Blank>
    );
  }
  if (failure.value === "") return null;
  return (
    <Blank icon="warning" title="The training of this address is not here" isError>
      <span>{failure.value}</span>
      <span>Choose another one at the top.</span>
    </Blank>
  );
}

/** What a person should know of the training, until they have read it. */
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
      <IconButton look={DISMISS} icon="close" label="Dismiss the notes" title="Dismiss" onClick={dismissNotes} />
    </div>
  );
}

const DISMISS = "btn quiet square sm";

/** What lasts no longer is not worth saying: a step of one trial is over before. */
const SETTLED_MS = 250;

/** Says to those who listen that the state of the training has changed. Counters are not said. */
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

/** Why the last thing that was asked of the training was not done, where that is of no one parameter. */
export function RefusalStrip() {
  const text = complaint.value || general();
  if (text === "") return null;
  return (
    <div class="strip control-refusal" role="alert">
      <span class="grow">{text}</span>
      <IconButton look={DISMISS} icon="close" label="Dismiss" title="Dismiss" onClick={dismissRefusal} />
    </div>
  );
}

/** What is said of a parameter stands under it, where it is in the form. */
function general(): string {
  const { field, text } = refusal.value;
  if (about.value?.fields.some(({ name }) => name === field) === true) return "";
  return field === "" ? text : `${field} ${text}`;
}

const KEYS: Readonly<Record<string, () => void>> = { ".": step, r: run, s: stop };

/** The keys of the training, wherever on its page the focus is, but for fields. */
export function actOnKey(event: KeyboardEvent): boolean {
  const act = KEYS[event.key];
  const isInDialog = event.target instanceof Element && event.target.closest("dialog, [role=listbox]") !== null;
  if (act === undefined || isInDialog) return false;
  // Held down, a step follows a step; a second stop would end the process.
  if (!event.repeat || event.key === ".") act();
  return true;
}

/** What went wrong in the training, and where. What was seen of it stays below. */
export function FaultPanel() {
  /** The next one is open again. */
  const [folded, setFolded] = useState<Fault | null>(null);
  const now = control.value;
  if (!now?.fault) return null;
  const [fault, state] = [now.fault, now.listing.state];
  if (state !== "failed" && state !== "died") return null;
  const what = state === "died" ? "output" : "traceback";
  const isOpen = folded !== fault;
  return (
    <section class="fault" aria-label="What went wrong">
      <div class="fault-head">
        <Icon name="warning" />
        <Said title={faultTitle(state, fault)} fault={fault} />
        {fault.trace !== "" && (
          <>
            <CopyButton text={fault.trace} what={what} />
            <FoldButton what={what} isOpen={isOpen} fold={() => setFolded(isOpen ? fault : null)} />
          </>
        )}
      </div>
      {isOpen && fault.trace !== "" && <Trace fault={fault} isOutput={state === "died"} />}
    </section>
  );
}

function FoldButton({ what, isOpen, fold }: { what: string; isOpen: boolean; fold: () => void }) {
  return (
    <button class="btn sm" aria-expanded={isOpen} onClick={fold}>
      {isOpen ? "Hide" : "Show"} {what}
    </button>
  );
}

function Said({ title, fault: { message, place } }: { title: string; fault: Fault }) {
  return (
    <div class="grow">
      <b>{title}</b>
      {message !== "" && <p class="fault-message">{message}</p>}
      <p class="dim">
        {place !== "" && <span class="mono">{place}. </span>}
        Tables and plots keep their last state; Init begins anew, with the file as it is then.
      </p>
    </div>
  );
}

/** Above the line that it begins with, in pixels. */
const MARGIN = 8;

function Trace({ fault: { trace, place }, isOutput }: { fault: Fault; isOutput: boolean }) {
  const box = useRef<HTMLPreElement>(null);
  const line = useRef<HTMLElement>(null);
  const [before, named, after] = isOutput ? partsAt(trace, place) : ["", "", trace];
  // What matters most stands at its end, but for what Python says of a crash: there it is the line that crashed.
  useLayoutEffect(() => {
    const [outer, inner] = [box.current, line.current];
    if (outer !== null) outer.scrollTop = inner === null ? outer.scrollHeight : inner.offsetTop - MARGIN;
  }, [trace, place]);
  return (
    <pre class="fault-trace" ref={box} tabIndex={0} role="region" aria-label={isOutput ? "Output" : "Traceback"}>
      {before}
      {named !== "" && <b ref={line}>{named}</b>}
      {after}
    </pre>
  );
}

/** An output before, in and after the line that a fault names, as in `a.py, line 40, in forward`; all after where it has none. */
function partsAt(output: string, place: string): readonly [before: string, line: string, after: string] {
  const [, file = "", line] = /^(.+), line (\d+)/.exec(place) ?? [];
  const lines = output.split("\n");
  const at = lines.findIndex((text) => {
    const [, path = "", number] = /"(.+)", line (\d+)/.exec(text) ?? [];
    return number !== undefined && number === line && path.endsWith(file) && !/\w$/.test(path.slice(0, -file.length));
  });
  if (at < 0) return ["", "", output];
  const from = lines.slice(0, at).reduce((length, text) => length + text.length + 1, 0);
  const to = from + lines[at]!.length;
  return [output.slice(0, from), output.slice(from, to), output.slice(to)];
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
