/** How good the chosen runs are: PR and ROC curves, confusion matrices. */
import { Group } from "../Group";
import { cellNumbers } from "../options";
import { Segments } from "../../shell/Segments";
import { shownNames } from "../series";
import { Confusion } from "./Confusion";
import { PrCurves } from "./PrCurves";

export function Evaluation() {
  const [curves, matrices] = [shownNames("pr_curve"), shownNames("confusion")];
  const count = curves.length + matrices.length;
  if (count === 0) return null;
  const tools = matrices.length > 0 && (
    <Segments
      label="Numbers of the confusion matrix"
      words={[
        ["counts", "Counts"],
        ["share", "Per cent"],
      ]}
      chosen={cellNumbers.value}
      choose={cellNumbers.set}
    />
  );
  return (
    <Group name="evaluation" count={count} tools={tools}>
      {curves.map((name) => (
        <PrCurves key={name} name={name} />
      ))}
      {matrices.map((name) => (
        <Confusion key={name} name={name} />
      ))}
    </Group>
  );
}
