/** The source of a page that is one file and shows an expression: all of it is in the lesson, and nothing can be asked. */
import { signal } from "@preact/signals";
import type { Lesson } from "../wire";
import { PasslessSource } from "./embeddedpassless";
import { Refusal } from "./source";
import type { Asked, Listener, Reply } from "./source";

/** Throws where the text is no lesson. */
export function readLesson(json: string): Lesson {
  const found = JSON.parse(json) as Partial<Lesson>;
  if (!Array.isArray(found.nodes) || !Array.isArray(found.backward)) throw new Error("there is no expression in it");
  return found as Lesson;
}

export class EmbeddedLesson extends PasslessSource {
  readonly hasRuns = signal<boolean | null>(false);
  readonly hasLessons = signal<boolean | null>(true);

  ask(question: Asked): Promise<Reply> {
    return Promise.reject(notHere(question));
  }

  follow(question: Asked, listener: Listener): () => void {
    queueMicrotask(() => listener.refuse(notHere(question).message));
    return () => undefined;
  }
}

function notHere({ type }: Asked): Refusal {
  return new Refusal(`This file has no answer to ${type}: torcheer learn has.`);
}
