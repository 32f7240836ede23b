/** Ask one thing after the other: what is asked while an answer is awaited takes the place of what waited. */

export interface Hearing<Question, Answer> {
  ask(question: Question): Promise<Answer>;
  hear(question: Question, answer: Answer): void;
  refuse(question: Question, reason: string): void;
}

export class Latest<Question, Answer> {
  readonly #hearing: Hearing<Question, Answer>;
  #isBusy = false;
  #next: { readonly question: Question } | null = null;
  #isStopped = false;

  constructor(hearing: Hearing<Question, Answer>) {
    this.#hearing = hearing;
  }

  /** Null: what waits is no longer wanted. What is on its way is still heard. */
  want(question: Question | null): void {
    this.#next = question === null ? null : { question };
    this.#advance();
  }

  stop(): void {
    this.#isStopped = true;
    this.#next = null;
  }

  #advance(): void {
    const next = this.#next;
    if (this.#isBusy || this.#isStopped || next === null) return;
    this.#next = null;
    this.#isBusy = true;
    this.#hearing.ask(next.question).then(
      (answer) => this.#settle(() => this.#hearing.hear(next.question, answer)),
      (reason: unknown) =>
        this.#settle(() => this.#hearing.refuse(next.question, reason instanceof Error ? reason.message : String(reason))),
    );
  }

  #settle(tell: () => void): void {
    this.#isBusy = false;
    if (this.#isStopped) return;
    tell();
    this.#advance();
  }
}
