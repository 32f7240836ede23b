/** The last tensors that came over the socket, so that they stay on screen when the connection is lost. */
import type { TensorAnswer } from "./source";

const MAX_BYTES = 64_000_000;

export class AnswerCache {
  readonly #answers = new Map<string, TensorAnswer>();
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes = MAX_BYTES) {
    this.#maxBytes = maxBytes;
  }

  get(key: string): TensorAnswer | undefined {
    const answer = this.#answers.get(key);
    if (answer === undefined) return undefined;
    // A Map keeps the order of setting: what was used last stands last.
    this.#answers.delete(key);
    this.#answers.set(key, answer);
    return answer;
  }

  set(key: string, answer: TensorAnswer): void {
    this.#drop(key);
    this.#answers.set(key, answer);
    this.#bytes += bytesOf(answer);
    for (const oldest of this.#answers.keys()) {
      if (this.#bytes <= this.#maxBytes || this.#answers.size === 1) break;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    const answer = this.#answers.get(key);
    if (answer === undefined) return;
    this.#answers.delete(key);
    this.#bytes -= bytesOf(answer);
  }
}

function bytesOf(answer: TensorAnswer): number {
  return "missing" in answer ? answer.missing.length : answer.values.byteLength;
}
