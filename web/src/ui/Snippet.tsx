/** How a run is started. */
import { Blank } from "./Blank";

/** The lines of Python that start a run. */
const LINES = 'with torcheer.Run("runs/first") as run:\n    run.log(step, loss=loss)';

export function Snippet() {
  return <pre class="snippet">{LINES}</pre>;
}

export function NoRuns() {
  return (
    <Blank icon="search" title="No runs yet">
      <span>Start one from Python; it shows up here by itself.</span>
      <Snippet />
    </Blank>
  );
}
