/** The texts of the chosen runs. */
import { Group } from "../Group";
import { textForm, textLayout } from "../options";
import { Segments } from "../../shell/Segments";
import { shownNames } from "../series";
import { TextSeries } from "./TextSeries";

export function Texts() {
  const names = shownNames("text");
  if (names.length === 0) return null;
  const tools = (
    <>
      <Segments
        label="How many texts"
        words={[
          ["one", "One step"],
          ["list", "List"],
        ]}
        chosen={textLayout.value}
        choose={textLayout.set}
      />
      <Segments
        label="Form of texts"
        words={[
          ["markdown", "Markdown"],
          ["plain", "Plain"],
        ]}
        chosen={textForm.value}
        choose={textForm.set}
      />
    </>
  );
  return (
    <Group name="text" count={names.length} tools={tools}>
      {names.map((name) => (
        <TextSeries key={name} name={name} />
      ))}
    </Group>
  );
}
