/** The videos of the chosen runs. */
import { useMemo } from "preact/hooks";
import { formatNumberOf, formatSeconds } from "../../format";
import type { FullRecord } from "../asking";
import { Group } from "../Group";
import { shownNames } from "../series";
import { Player } from "./Player";
import { reelOfVideo } from "./reel";
import { Series } from "./Series";

export function Videos() {
  const names = shownNames("video");
  if (names.length === 0) return null;
  return (
    <Group name="video" count={names.length}>
      {names.map((name) => (
        <Series
          key={name}
          kind="video"
          name={name}
          height={180}
          remark={describe}
          tools={() => null}
          show={({ run }, record) => <Video label={`${name} of ${run.name}`} record={record} />}
        />
      ))}
    </Group>
  );
}

function Video({ label, record }: { label: string; record: FullRecord }) {
  const { head } = record.entry;
  const reel = useMemo(() => (head.kind === "video" ? reelOfVideo(record, head) : null), [record]);
  return reel && <Player label={label} reel={reel} />;
}

function describe({ entry: { head } }: FullRecord): string {
  if (head.kind !== "video") return "";
  const count = head.frame_bytes.length;
  const length = head.frames_per_second > 0 ? ` · ${formatSeconds(count / head.frames_per_second)}` : "";
  return `${head.width}×${head.height} · ${formatNumberOf(count, "frame")}${length}`;
}
