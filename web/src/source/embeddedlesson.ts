/** The source of a page that is one file and shows an expression: all of it is in the lesson, and nothing can be asked. */
import { signal } from "@preact/signals";
import type { Lesson } from "../wire";
import { Refusal } from "./source";
import type { Asked, Connection, Listener, OpenedPass, PassListing, Reply, Source, TensorAnswer } from "./source";

/** Throws where the text is no lesson. */
export function readLesson(json: string): Lesson {
  const found = JSON.parse(json) as Partial<Lesson>;
  if (!Array.isArray(found.nodes) || !Array.isArray(found.backward)) throw new Error("there is no expression in it");
  return found as Lesson;
}

export class EmbeddedLesson implements Source {
  readonly hasRuns = signal<boolean | null>(false);
  readonly hasLessons = signal<boolean | null>(true);
  readonly passes = signal<readonly PassListing[]>([]);
  readonly connection = signal<Connection>({ state: "one-file" });
  readonly canMove = false;

  ask(question: Asked): Promise<Reply> {
    return Promise.reject(notHere(question));
  }

  follow(question: Asked, listener: Listener): () => void {
    queueMicrotask(() => listener.refuse(notHere(question).message));
    return () => undefined;
  }

  openPass(): Promise<OpenedPass> {
    return Promise.reject(new Refusal("There is no pass in this file."));
  }

  tensor(): Promise<TensorAnswer> {
    return Promise.resolve({ missing: "There is no pass in this file." });
  }

  figures(): Promise<(number | null)[]> {
    return Promise.reject(new Refusal("There is no pass in this file."));
  }

  refreshPasses(): void {
    // There are none, and none will come.
  }

  retryNow(): void {
    // Nothing to connect to.
  }
}

function notHere({ type }: Asked): Refusal {
  return new Refusal(`This file has no answer to ${type}: torcheer learn has.`);
}
