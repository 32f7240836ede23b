/** The points that are selected: show only them, save them under a name, take them along. */
import { useState } from "preact/hooks";
import { formatNumberOf } from "../format";
import { param, setParams } from "../route";
import {
  downloadPoints,
  forgetSelection,
  indicesText,
  isolate,
  look,
  saveSelection,
  select,
  showAll,
} from "./choosing";
import { PointRow } from "./PointRow";
import { writeRanges } from "./selections";
import * as store from "./store";

const MOST_LISTED = 30;

export function SelectionSection() {
  if (store.loaded.value === null) return null;
  const points = store.selected.value;
  return (
    <section class="section" aria-label="Selection">
      <div class="row">
        <h2>Selection</h2>
        <span class="grow" />
        <span class="muted fs-1" role="status">
          {points.length === 0 ? "none" : formatNumberOf(points.length, "point")}
        </span>
      </div>
      <Isolation />
      {store.selectionNote.value !== "" && (
        <p class="hint" role="alert">
          {store.selectionNote.value}
        </p>
      )}
      {points.length > 0 && <Chosen points={points} />}
      <Saved />
    </section>
  );
}

function Isolation() {
  if (store.isolated.value === null) return null;
  return (
    <div class="row actions">
      <span class="fs-1 muted grow">Only {formatNumberOf(store.shown.value.length, "point")} shown</span>
      <button class="btn sm" onClick={showAll}>
        Show all
      </button>
    </div>
  );
}

function Chosen({ points }: { points: readonly number[] }) {
  const [copied, setCopied] = useState("");
  const [name, setName] = useState("");
  const [fault, setFault] = useState("");
  const copy = (): void => {
    const said = (text: string) => (): void => setCopied(text);
    // Pages that did not come from this machine may have no clipboard.
    const { clipboard } = navigator as { clipboard?: Clipboard };
    if (clipboard === undefined) setCopied("This page may not use the clipboard: download them instead.");
    else clipboard.writeText(indicesText(points)).then(said("Copied."), said("The browser did not allow it."));
  };
  const save = (event: Event): void => {
    event.preventDefault();
    const reason = saveSelection(name);
    setFault(reason);
    if (reason === "") setName("");
  };
  return (
    <>
      <p class="mono fs-1 clip" title={writeRanges(points)}>
        {writeRanges(points)}
      </p>
      <div class="row actions wrapped">
        <button class="btn sm" onClick={() => isolate(points)}>
          Isolate
        </button>
        <button class="btn sm" aria-label="Copy indices" title="Copy the indices, as a list of Python" onClick={copy}>
          Copy
        </button>
        <button class="btn sm" title="Index, labels and coordinates" onClick={() => downloadPoints(points)}>
          CSV
        </button>
        <button class="btn sm quiet" onClick={() => select([])}>
          Clear
        </button>
      </div>
      <p class="muted fs-1" role="status">
        {copied}
      </p>
      <ul class="point-list" aria-label="Selected points">
        {points.slice(0, MOST_LISTED).map((point) => (
          <li key={point}>
            <PointRow point={point} onChoose={look} />
          </li>
        ))}
      </ul>
      {points.length > MOST_LISTED && <p class="muted fs-1">and {points.length - MOST_LISTED} more</p>}
      <form class="row actions" onSubmit={save}>
        <input
          class="input sm grow"
          type="text"
          placeholder="Name of the selection"
          aria-label="Name of the selection"
          maxLength={80}
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
        <button class="btn sm" type="submit" disabled={name.trim() === ""}>
          Save
        </button>
      </form>
      {fault !== "" && (
        <p class="hint" role="alert">
          {fault}
        </p>
      )}
    </>
  );
}

function Saved() {
  const names = [...store.saved.value];
  if (names.length === 0) return null;
  const now = param("selection");
  return (
    <>
      <h3 class="nearest-title">Saved in this browser</h3>
      <ul class="point-list" aria-label="Saved selections">
        {names.map(([name, points]) => (
          <li key={name} class="row">
            <button
              class="point-row grow"
              aria-current={name === now}
              onClick={() => {
                setParams({ selection: name });
                select(points);
              }}
            >
              <span class="grow clip">{name}</span>
              <span class="muted">{formatNumberOf(points.length, "point")}</span>
            </button>
            <button class="btn quiet sm" aria-label={`Forget ${name}`} onClick={() => forgetSelection(name)}>
              ×
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}
