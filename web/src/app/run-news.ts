/** What has happened to runs, in words. */
import type { RunListing } from "../wire";

type Runs = ReadonlyMap<string, RunListing>;

/** Which runs have ended since; empty where none has. */
export function newsOf(before: Runs, now: Runs): string {
  const parts: string[] = [];
  for (const [id, run] of now) {
    if (before.get(id)?.state !== "running" || run.state === "running") continue;
    parts.push(`${run.name} ${run.state}${run.reason === "" ? "" : `: ${run.reason}`}`);
  }
  return parts.join("; ");
}
