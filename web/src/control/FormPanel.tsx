/** The parameters by their sections, and how many of them are other than what is in force. */
import { useEffect, useRef } from "preact/hooks";
import { formatCount } from "../format";
import { Icon } from "../shell/Icon";
import { panels, setPanel } from "../shell/panels";
import { apply, problemAsked } from "./acting";
import { ActButton } from "./ActButton";
import { changed, isSeedChanged, liveValues, revertAll, rows, type FormRow } from "./drafts";
import { FormRowView } from "./FormRowView";
import { reasonAgainst } from "./sending";
import { about } from "./store";

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
        <button
          class="btn quiet square sm"
          aria-label="Hide the parameters"
          title="Hide the parameters"
          onClick={() => setPanel("left", false)}
        >
          <Icon name={panels.value.width === "wide" ? "hideLeft" : "close"} />
        </button>
      </div>
      <div class="panel-body" ref={body}>
        {about.value === null && <Skeletons />}
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
  const found = new Map<string, FormRow[]>();
  for (const row of all) {
    const section = found.get(row.field.section);
    if (section === undefined) found.set(row.field.section, [row]);
    else section.push(row);
  }
  return [...found];
}

/** Bring the first field that cannot be as it is into view, when somebody wants to go on with it. */
function useShownProblem(body: { readonly current: HTMLElement | null }): void {
  const asked = problemAsked.value;
  useEffect(() => {
    if (asked > 0) body.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [asked]);
}

function Skeletons() {
  return (
    <div class="skeletons late" aria-busy="true" aria-label="Reading the parameters">
      {[96, 72, 120, 84, 104].map((width) => (
        <i key={width} class="skeleton" style={{ width: `${width}px` }} />
      ))}
    </div>
  );
}
