/** The source of a page that a server sent: one WebSocket, which is opened again whenever it closes. */
import { batch, signal } from "@preact/signals";
import type { Answer, PassDocument, Question, TensorKind, TensorView, Window } from "../wire";
import { messageOf } from "./message-of";
import { askOf, ByteCache } from "./requests";
import {
  type Asked,
  bytesOf,
  type Connection,
  type Listener,
  type OpenedPass,
  type PassListing,
  Refusal,
  type Reply,
  type Source,
  type TensorAnswer,
  type Values,
} from "./source";

/** As much of a WebSocket as is used here. */
export interface SocketLike {
  binaryType: string;
  readonly readyState?: number;
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

interface Pending {
  readonly request: Question;
  readonly listener: Listener;
  readonly isFollowed: boolean;
  /** How often it was sent without being answered. */
  sent: number;
}

const OPEN = 1; // of WebSocket.readyState
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 15_000;
/** A request over which the connection broke so often is given up, so that one bad request cannot break it for ever. */
const MAX_SENT = 3;
/** What does something is not sent again: it may have been done before the connection broke. */
const DOING: ReadonlySet<Question["type"]> = new Set(["control_do"]);

export class SocketSource implements Source {
  readonly hasRuns = signal<boolean | null>(null);
  readonly hasLessons = signal<boolean | null>(null);
  readonly passes = signal<readonly PassListing[]>([]);
  readonly connection = signal<Connection>({ state: "connecting" });
  readonly canMove = true;
  readonly #wiring: Wiring;
  readonly #pending = new Map<number, Pending>();
  /** The last tensors that came: they stay on screen when the connection is lost. */
  readonly #cache = new ByteCache<TensorAnswer>(64_000_000);
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
    const { answer, text = "" } = await askOf({ type: "open", pass_id: passId }, "document", this);
    const document = checkDocument(answer.document);
    return { document, seed: seedDigits(text) ?? String(document.random_seed) };
  }

  async tensor(
    passId: string,
    kind: TensorKind,
    index: number,
    window: Window | null,
  ): Promise<TensorAnswer> {
    const ask = async (): Promise<TensorAnswer> => {
      const asked: Asked = { type: "tensor", pass_id: passId, kind, index, window };
      const { answer, buffer, offset } = await askOf(asked, "tensor", this);
      return { view: answer.view, values: valuesOf(answer.view, buffer, offset) };
    };
    try {
      return await this.#cache.fetched(`${passId} ${kind} ${index} ${JSON.stringify(window)}`, ask, bytesOf);
    } catch (reason) {
      // Not kept: the next time it may be there.
      return { missing: messageOf(reason) };
    }
  }

  async figures(passId: string, name: string): Promise<(number | null)[]> {
    const { answer } = await askOf({ type: "figures", pass_id: passId, name }, "figures", this);
    return answer.values;
  }

  refreshPasses(): void {
    if (!this.#isOpen) return;
    askOf({ type: "passes" }, "passes", this).then(
      ({ answer }) => {
        // Asked again and again: a list that is the same is no news.
        if (JSON.stringify(answer.passes) === JSON.stringify(this.passes.peek())) return;
        this.passes.value = answer.passes;
      },
      () => undefined, // the list that is known stays
    );
  }

  ask(question: Asked): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.#begin(question, false, {
        hear: resolve,
        refuse: (reason) => reject(new Refusal(reason)),
      });
    });
  }

  follow(question: Asked, listener: Listener): () => void {
    const id = this.#begin(question, true, listener);
    return () => {
      if (this.#settle(id) === undefined || !this.#isOpen) return;
      const stop: Question = { type: "stop", id: this.#nextId++, which: id };
      if (this.#canSend()) this.#socket?.send(JSON.stringify(stop));
    };
  }

  #begin(question: Asked, isFollowed: boolean, listener: Listener): number {
    const request: Question = { ...question, id: this.#nextId++ };
    const pending: Pending = { request, listener, isFollowed, sent: 0 };
    this.#pending.set(request.id, pending);
    if (this.#isOpen) this.#send(pending);
    return request.id;
  }

  retryNow(): void {
    if (this.#timer === null) return;
    this.#wait = FIRST_WAIT_MS;
    this.#connect();
  }

  #send(pending: Pending): void {
    const { id, type } = pending.request;
    const problem =
      DOING.has(type) && pending.sent > 0
        ? "The connection broke before it was answered: look whether it was done."
        : pending.sent >= MAX_SENT
          ? `The connection broke ${MAX_SENT} times over this request (${type}); it was given up.`
          : "";
    if (problem !== "") {
      this.#settle(id)?.listener.refuse(problem);
      return;
    }
    if (!this.#canSend()) return; // it is sent when there is a connection again
    pending.sent += 1;
    this.#socket?.send(JSON.stringify(pending.request));
  }

  /** A socket that is closing says so a moment later. */
  #canSend(): boolean {
    return (this.#socket?.readyState ?? OPEN) === OPEN;
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
    // All that one message changes is seen at once.
    batch(() => this.#take(readReply(data)));
  }

  #take(reply: Reply): void {
    const { answer } = reply;
    if (answer.type === "hello") {
      this.hasRuns.value = answer.has_runs;
      this.hasLessons.value = answer.has_lessons;
      this.#greet(answer.passes);
      return;
    }
    const pending = this.#pending.get(answer.id);
    // Stopped meanwhile.
    if (pending === undefined) return;
    pending.sent = 0;
    if (!pending.isFollowed || answer.type === "refusal") this.#settle(answer.id);
    if (answer.type === "refusal") pending.listener.refuse(answer.message);
    else pending.listener.hear(reply);
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

function readReply(data: unknown): Reply {
  if (data instanceof ArrayBuffer) return readFrame(data);
  const text = String(data);
  return { answer: JSON.parse(text) as Answer, buffer: new ArrayBuffer(0), offset: 0, text };
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

/** Bytes as the numbers that they are; throws where there are too few or too many. */
export function valuesOf(view: TensorView, buffer: ArrayBuffer, offset: number): Values {
  const size = view.encoding === "f8" ? 8 : 4;
  const { num_tiles, num_rows, num_columns } = view.window;
  const count = num_tiles * num_rows * num_columns;
  if (buffer.byteLength - offset !== count * size) {
    throw new Error(`a window of ${count} values came with ${buffer.byteLength - offset} bytes`);
  }
  return size === 8 ? new Float64Array(buffer, offset, count) : new Float32Array(buffer, offset, count);
}

export function readFrame(buffer: ArrayBuffer): Reply {
  if (buffer.byteLength < 4) throw new Error("a frame of fewer than four bytes");
  const length = new DataView(buffer).getUint32(0, true);
  if (4 + length > buffer.byteLength) throw new Error("a header longer than its frame");
  const text = new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array(buffer, 4, length));
  const answer = JSON.parse(text) as { type?: unknown; id?: unknown };
  if (typeof answer.type !== "string" || typeof answer.id !== "number") {
    throw new Error("a frame that is no answer");
  }
  return { answer: answer as Answer, buffer, offset: Math.ceil((4 + length) / 8) * 8 };
}

export function fromBase64(text: string): ArrayBuffer {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes.buffer;
}

// --- Read a pass from JSON: refuse what this page cannot show, keep what JavaScript would round.

const DOCUMENT_VERSION = 1;

/** Refuse a document that this page would misread. */
export function checkDocument(document: PassDocument): PassDocument {
  const version: unknown = document.version;
  if (typeof version !== "number" || !Array.isArray(document.ops) || !Array.isArray(document.scopes)) {
    throw new Refusal("This is no pass that torcheer wrote: it names no version, ops and modules.");
  }
  if (version > DOCUMENT_VERSION) {
    throw new Refusal(
      `The pass was written by a newer torcheer (form ${version}; this page reads up to ${DOCUMENT_VERSION}). ` +
        "Open it with that version.",
    );
  }
  return document;
}

/**
 * The seed as digits. It has up to 64 bits, of which a JavaScript number keeps 53, so it is read from the text.
 * A string in the data cannot pass for the key: its quotes would be escaped.
 */
export function seedDigits(json: string): string | null {
  return /"random_seed":\s*(-?\d+)/.exec(json)?.[1] ?? null;
}
