/** The distributions of the chosen runs: one run at a time, all of its series. */
import { chosen } from "../../runs/store";
import type { RunListing } from "../../wire";
import { Group } from "../Group";
import { countScale, distributionRun, tensorsToo } from "../options";
import { Segments } from "../../shell/Segments";
import { holdersOf, shownNames, type Holder } from "../series";
import { Distribution } from "./Distribution";

type Kind = "histogram" | "tensor";

interface Row {
  readonly kind: Kind;
  readonly name: string;
  readonly holders: readonly Holder[];
}

/** More than these are a long way to scroll, such as where all layers are watched. */
const MOST_OPEN = 24;

/** The series that are shown, or could be. */
export function distributionNames(): readonly (readonly [Kind, string])[] {
  const histograms = shownNames("histogram").map((name) => ["histogram", name] as const);
  if (tensorsToo.value === "no") return histograms;
  return [...histograms, ...shownNames("tensor").map((name) => ["tensor", name] as const)];
}

export function Distributions() {
  const numTensors = shownNames("tensor").length;
  const rows = distributionNames().map(([kind, name]) => ({ kind, name, holders: holdersOf(kind, name) }));
  const shown = rows.filter(({ holders }) => holders.length > 0);
  if (shown.length === 0 && numTensors === 0) return null;
  const runs = runsOf(shown);
  const tools = (
    <>
      {runs.length > 1 && <RunSelect runs={runs} />}
      {numTensors > 0 && (
        <label class="check">
          <input
            type="checkbox"
            checked={tensorsToo.value === "yes"}
            onChange={(event) => tensorsToo.set(event.currentTarget.checked ? "yes" : "no")}
          />
          Tensors
        </label>
      )}
      {shown.length > 0 && (
        <Segments
          label="Counts of the distributions"
          words={[
            ["linear", "Linear"],
            ["log", "Log count"],
          ]}
          chosen={countScale.value}
          choose={countScale.set}
        />
      )}
    </>
  );
  return (
    <Group
      name="distributions"
      count={shown.length}
      whyClosed={shown.length > MOST_OPEN ? "folded because there are many; \u201cFilter charts\u201d leaves fewer" : ""}
      tools={tools}
    >
      {shown.map(({ kind, name, holders }) => {
        const holder = holders.find(({ run }) => run.id === distributionRun.value) ?? holders[0]!;
        return (
          <Distribution
            key={`${kind} ${name}`}
            kind={kind}
            name={name}
            holder={holder}
            isNamed={chosen.value.length > 1}
          />
        );
      })}
    </Group>
  );
}

function runsOf(rows: readonly Row[]): readonly RunListing[] {
  return [
    ...new Map(rows.flatMap(({ holders }) => holders.map(({ run }) => [run.id, run] as const))).values(),
  ];
}

function RunSelect({ runs }: { runs: readonly RunListing[] }) {
  return (
    <select
      class="input sm sec-select"
      aria-label="Run whose distributions are shown"
      value={runs.some(({ id }) => id === distributionRun.value) ? distributionRun.value : runs[0]!.id}
      onChange={(event) => distributionRun.set(event.currentTarget.value)}
    >
      {runs.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  );
}
