/** Says to those who listen that a run has ended, and how. Values are not said. */
import { useSignalEffect } from "@preact/signals";
import { useRef, useState } from "preact/hooks";
import { newsOf } from "../runs/news";
import { runs } from "../runs/store";
import type { RunListing } from "../wire";

export function RunNews() {
  const before = useRef<ReadonlyMap<string, RunListing>>(new Map());
  const [said, setSaid] = useState("");
  useSignalEffect(() => {
    const now = new Map(runs.value.map((run) => [run.id, run]));
    const news = newsOf(before.current, now);
    before.current = now;
    if (news !== "") setSaid(news);
  });
  return (
    <div class="sr" role="status" aria-label="Runs that ended">
      {said}
    </div>
  );
}
