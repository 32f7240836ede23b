/** The source of a page that a server sent: one WebSocket, which is opened again whenever it closes. */
import { signal } from "@preact/signals";
import type { Answer, Question, TensorKind, Window } from "../wire";
import { AnswerCache } from "./cache";
import { readTensorFrame } from "./framing";
import { checkDocument, seedDigits } from "./reading";
import { Refusal } from "./source";
import type { Connection, OpenedPass, PassListing, Source, TensorAnswer } from "./source";

/** As much of a WebSocket as is used here. */
export interface SocketLike {
  binaryType: string;
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: (() => void) | null;
  send(text: string): void;
  close(): void;
}

export interface Wiring {
  connect(): SocketLike;
  /** The status with which the server answers for its page, or null where no server answers. */
  probe(): Promise<number | null>;
}

/** What comes as text. Tensors come as binary frames. */
type TextAnswer = Exclude<Answer, { type: "tensor" }>;

interface Pending {
  readonly request: Question;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (reason: Error) => void;
  sent: number;
}

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 15_000;
/** A request over which the connection broke so often is given up, so that one bad request cannot break it for ever. */
const MAX_SENT = 3;

export class SocketSource implements Source {
  readonly passes = signal<readonly PassListing[]>([]);
  readonly connection = signal<Connection>({ state: "connecting" });
  readonly canMove = true;
  readonly #wiring: Wiring;
  readonly #pending = new Map<number, Pending>();
  readonly #cache = new AnswerCache();
  #socket: SocketLike | null = null;
  #isOpen = false;
  #nextId = 1;
  #wait = FIRST_WAIT_MS;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #lastHeard = Date.now();

  constructor(wiring: Wiring) {
    this.#wiring = wiring;
    this.#connect();
  }

  async openPass(passId: string): Promise<OpenedPass> {
    return (await this.#ask({ type: "open", id: this.#nextId++, pass_id: passId })) as OpenedPass;
  }

  async tensor(
    passId: string,
    kind: TensorKind,
    index: number,
    window: Window | null,
  ): Promise<TensorAnswer> {
    const key = JSON.stringify([passId, kind, index, window]);
    const known = this.#cache.get(key);
    if (known !== undefined) return known;
    const request: Question = { type: "tensor", id: this.#nextId++, pass_id: passId, kind, index, window };
    try {
      const answer = (await this.#ask(request)) as TensorAnswer;
      this.#cache.set(key, answer);
      return answer;
    } catch (reason) {
      // Not kept: the next time it may be there.
      return { missing: reason instanceof Error ? reason.message : String(reason) };
    }
  }

  async figures(passId: string, name: string): Promise<(number | null)[]> {
    const request: Question = { type: "figures", id: this.#nextId++, pass_id: passId, name };
    return (await this.#ask(request)) as (number | null)[];
  }

  refreshPasses(): void {
    if (!this.#isOpen) return;
    this.#ask({ type: "passes", id: this.#nextId++ }).then(
      (passes) => (this.passes.value = passes as PassListing[]),
      () => undefined, // the list that is known stays
    );
  }

  retryNow(): void {
    if (this.#timer === null) return;
    this.#wait = FIRST_WAIT_MS;
    this.#connect();
  }

  #ask(request: Question): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const pending: Pending = { request, resolve, reject, sent: 0 };
      this.#pending.set(request.id, pending);
      if (this.#isOpen) this.#send(pending);
    });
  }

  #send(pending: Pending): void {
    if (pending.sent >= MAX_SENT) {
      const { id, type } = pending.request;
      this.#settle(id)?.reject(
        new Refusal(`The connection broke ${MAX_SENT} times over this request (${type}); it was given up.`),
      );
      return;
    }
    pending.sent += 1;
    this.#socket?.send(JSON.stringify(pending.request));
  }

  #settle(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    return pending;
  }

  #connect(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.connection.value.state !== "refused") this.connection.value = { state: "connecting" };
    const socket = this.#wiring.connect();
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }) => {
      if (socket === this.#socket) this.#hear(data);
    };
    socket.onclose = () => {
      if (socket === this.#socket) void this.#lose();
    };
    this.#socket = socket;
  }

  async #lose(): Promise<void> {
    this.#socket = null;
    const wasOpen = this.#isOpen;
    this.#isOpen = false;
    const wait = this.#wait;
    this.#wait = Math.min(2 * wait, LONGEST_WAIT_MS);
    const retryAt = Date.now() + wait;
    this.#timer = setTimeout(() => this.#connect(), wait);
    const lost: Connection = { state: "lost", lastHeard: this.#lastHeard, retryAt };
    if (wasOpen || this.connection.value.state !== "refused") this.connection.value = lost;
    const status = await this.#wiring.probe();
    // A later attempt may have gone through meanwhile.
    if (this.connection.peek().state === "connected") return;
    if (status === 401 || status === 403) this.connection.value = { state: "refused" };
    else if (this.connection.value.state === "refused") this.connection.value = lost;
  }

  #hear(data: unknown): void {
    this.#lastHeard = Date.now();
    if (data instanceof ArrayBuffer) {
      const { id, view, values } = readTensorFrame(data);
      this.#settle(id)?.resolve({ view, values });
      return;
    }
    const text = String(data);
    this.#take(JSON.parse(text) as TextAnswer, text);
  }

  #take(reply: TextAnswer, text: string): void {
    if (reply.type === "hello") {
      this.#greet(reply.passes);
      return;
    }
    const pending = this.#settle(reply.id);
    if (pending === undefined) return;
    if (reply.type === "refusal") pending.reject(new Refusal(reply.message));
    else if (reply.type === "figures") pending.resolve(reply.values);
    else if (reply.type === "passes") pending.resolve(reply.passes);
    else {
      try {
        const document = checkDocument(reply.document);
        pending.resolve({ document, seed: seedDigits(text) ?? String(document.random_seed) });
      } catch (reason) {
        pending.reject(reason instanceof Error ? reason : new Error(String(reason)));
      }
    }
  }

  #greet(passes: readonly PassListing[]): void {
    this.#isOpen = true;
    this.#wait = FIRST_WAIT_MS;
    this.passes.value = passes;
    this.connection.value = { state: "connected" };
    // In the order they were asked: what was pending when the connection broke goes first.
    for (const pending of [...this.#pending.values()]) this.#send(pending);
  }
}

/** The wiring of a real page: its own server. */
export function pageWiring(): Wiring {
  const { protocol, host } = location;
  return {
    connect: () =>
      new WebSocket(`${protocol === "https:" ? "wss" : "ws"}://${host}/socket`) as unknown as SocketLike,
    probe: () =>
      fetch("/", { method: "HEAD", cache: "no-store" }).then(
        (response) => response.status,
        () => null,
      ),
  };
}
