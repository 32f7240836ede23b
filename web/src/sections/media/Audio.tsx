/** The sounds of the chosen runs. */
import { formatCount, formatNumberOf, formatSeconds } from "../../format";
import { colourSlot } from "../../runs/store";
import type { FullRecord } from "../asking";
import { Group } from "../Group";
import { fileName, save } from "../../files/saving";
import { shownNames } from "../series";
import { ToolButton } from "../ToolButton";
import { Listener } from "./Listener";
import { setVolume, volume } from "./playing";
import { Series } from "./Series";

export function Audio() {
  const names = shownNames("audio");
  if (names.length === 0) return null;
  const tools = (
    <label class="check sec-volume">
      Volume
      <input
        type="range"
        min={0}
        max={100}
        value={Math.round(volume.value * 100)}
        onInput={(event) => setVolume(Number(event.currentTarget.value) / 100)}
      />
    </label>
  );
  return (
    <Group name="audio" count={names.length} tools={tools}>
      {names.map((name) => (
        <Series
          key={name}
          kind="audio"
          name={name}
          height={110}
          remark={describe}
          tools={({ run }, { entry, bytes }) => (
            <ToolButton
              glyph="save"
              name={`Save ${name} of ${run.name}`}
              press={() => save(fileName([run.name, name, entry.step], "wav"), bytes, "audio/wav")}
            />
          )}
          show={({ run }, record) => (
            <Listener label={`${name} of ${run.name}`} record={record} colour={colourSlot(run.id)} />
          )}
        />
      ))}
    </Group>
  );
}

function describe({ entry: { head } }: FullRecord): string {
  if (head.kind !== "audio") return "";
  const length = head.sample_rate > 0 ? `${formatSeconds(head.num_frames / head.sample_rate)} · ` : "";
  return `${length}${formatCount(head.sample_rate)}\u202fHz · ${formatNumberOf(head.num_channels, "channel")}`;
}
