/** The lines of Python that start a run. */

const LINES = 'with torcheer.Run("runs/first") as run:\n    run.log(step, loss=loss)';

export function Snippet() {
  return <pre class="snippet">{LINES}</pre>;
}
