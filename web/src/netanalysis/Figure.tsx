/** One picture of one layer: its name above, what is to be known of it below; what came before stays meanwhile. */
import type { ComponentChildren } from "preact";
import { formatCount, formatShape } from "../format";
import { sentence } from "../netview/wording";
import { isConnected } from "../runs/states";
import { Blank } from "../shell/Blank";
import type { NetLayer } from "../wire";

interface Props {
  layer: NetLayer;
  /** Why nothing came; empty where something did. */
  problem: string;
  retry: () => void;
  isReady: boolean;
  /** Is what is shown that of the items of before? */
  isOld: boolean;
  note?: string;
  facts?: ComponentChildren;
  children: ComponentChildren;
}

export function Figure({ layer, problem, retry, isReady, isOld, note, facts, children }: Props) {
  // What was known stays, where it is the server that is gone.
  const isFailed = problem !== "" && !(isReady && !isConnected.value);
  return (
    <section class="an-figure" aria-label={layer.name} aria-busy={(!isReady || isOld) && problem === ""}>
      <header>
        <h3 class="clip" title={layer.name}>
          {layer.name}
        </h3>
        <span class="muted fs-1 clip">
          {layer.module} {formatShape(layer.shape)} · {formatCount(layer.grid.num_units)} units
        </span>
        <span class="grow" />
        {isOld && problem === "" && <span class="muted fs-1">what came before</span>}
      </header>
      {isFailed && <Failure problem={problem} retry={retry} />}
      {!isFailed && (isReady ? children : <Wait />)}
      {!isFailed && isReady && <Foot facts={facts} note={note} />}
    </section>
  );
}

function Foot({ facts, note = "" }: { facts: ComponentChildren; note: string | undefined }) {
  return (
    <footer class="fs-2">
      {facts}
      {note !== "" && <span class="muted">{sentence(note)}</span>}
    </footer>
  );
}

function Failure({ problem, retry }: Pick<Props, "problem" | "retry">) {
  return (
    <Blank icon="warning" title="This cannot be shown" isError>
      <span>{sentence(problem)}</span>
      <button class="btn" onClick={retry}>
        Try again
      </button>
    </Blank>
  );
}

function Wait() {
  return (
    <div class="an-wait">
      <i class="skeleton late" />
    </div>
  );
}
