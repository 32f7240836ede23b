/** What sources have in common that are a page of one file without a pass in it. */
import { signal, type ReadonlySignal } from "@preact/signals";
import { Refusal } from "./source";
import type { Asked, Connection, Listener, OpenedPass, PassListing, Reply, Source, TensorAnswer } from "./source";

const NO_PASS = "There is no pass in this file.";

export abstract class PasslessSource implements Source {
  abstract readonly hasRuns: ReadonlySignal<boolean | null>;
  abstract readonly hasLessons: ReadonlySignal<boolean | null>;
  readonly passes = signal<readonly PassListing[]>([]);
  readonly connection = signal<Connection>({ state: "one-file" });
  readonly canMove = false;

  abstract ask(question: Asked): Promise<Reply>;
  abstract follow(question: Asked, listener: Listener): () => void;

  openPass(): Promise<OpenedPass> {
    return Promise.reject(new Refusal(NO_PASS));
  }

  tensor(): Promise<TensorAnswer> {
    return Promise.resolve({ missing: NO_PASS });
  }

  figures(): Promise<(number | null)[]> {
    return Promise.reject(new Refusal(NO_PASS));
  }

  refreshPasses(): void {
    // There are none, and none will come.
  }

  retryNow(): void {
    // Nothing to connect to.
  }
}
