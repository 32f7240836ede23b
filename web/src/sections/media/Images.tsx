/** The pictures of the chosen runs. */
import { Group } from "../Group";
import { pixels } from "../options";
import { Segments } from "../../shell/Segments";
import { shownNames } from "../series";
import { ImageSeries } from "./ImageSeries";

export function Images() {
  const names = shownNames("image");
  if (names.length === 0) return null;
  const tools = (
    <Segments
      label="Between pixels"
      words={[
        ["sharp", "Pixels"],
        ["smooth", "Smooth"],
      ]}
      chosen={pixels.value}
      choose={pixels.set}
    />
  );
  return (
    <Group name="images" count={names.length} tools={tools}>
      {names.map((name) => (
        <ImageSeries key={name} name={name} />
      ))}
    </Group>
  );
}
