import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { effect } from "@preact/signals";
import { SocketSource } from "../../src/data/socket";
import type { Listener } from "../../src/data/source";
import type { Answer } from "../../src/wire";
import { documentWith, FakeSocket, frameOf, viewOf, windowWith } from "../samples";

const PASS = { id: "p", name: "Net", detail: "" };
let sockets: FakeSocket[];
let status: number | null;

function start(): SocketSource {
  return new SocketSource({
    connect: () => {
      const socket = new FakeSocket();
      sockets.push(socket);
      return socket;
    },
    probe: () => Promise.resolve(status),
  });
}

function latest(): FakeSocket {
  return sockets.at(-1)!;
}

/** Let promises that are settled run on. */
async function settle(): Promise<void> {
  await vi.advanceTimersByTimeAsync(0);
}

beforeEach(() => {
  vi.useFakeTimers();
  sockets = [];
  status = null;
});
afterEach(() => vi.useRealTimers());

test("the server's hello says which passes there are", () => {
  const source = start();
  expect(source.connection.value.state).toBe("connecting");
  latest().greet([PASS]);
  expect(source.connection.value.state).toBe("connected");
  expect(source.passes.value).toEqual([PASS]);
});

test("what is asked before the connection stands is sent when it does", async () => {
  const source = start();
  const opened = source.openPass("p");
  expect(latest().sent).toEqual([]);
  latest().greet([PASS]);
  expect(latest().sent).toMatchObject([{ type: "open", pass_id: "p" }]);
  const id = latest().sent[0]!.id;
  latest().hear({ type: "document", id, document: documentWith({ model_name: "Mine" }) });
  expect((await opened).document.model_name).toBe("Mine");
});

test("the seed of a pass keeps the digits that a number would lose", async () => {
  const source = start();
  latest().greet([PASS]);
  const opened = source.openPass("p");
  const text = JSON.stringify({ type: "document", id: 1, document: documentWith({}) });
  latest().onmessage?.({ data: text.replace('"random_seed":0', '"random_seed":16138825459553524634') });
  expect((await opened).seed).toBe("16138825459553524634");
});

test("a name in the data cannot pass for the seed", async () => {
  const source = start();
  latest().greet([PASS]);
  const opened = source.openPass("p");
  latest().hear({
    type: "document",
    id: 1,
    document: documentWith({ model_name: '"random_seed":13', random_seed: 5 }),
  });
  expect((await opened).seed).toBe("5");
});

test("answers may come in any order", async () => {
  const source = start();
  latest().greet([PASS]);
  const [one, two] = [source.tensor("p", "output", 1, null), source.tensor("p", "output", 2, null)];
  latest().hear(frameOf(2, viewOf([1], {}), [22]));
  latest().hear(frameOf(1, viewOf([1], {}), [11]));
  expect(await one).toMatchObject({ values: new Float32Array([11]) });
  expect(await two).toMatchObject({ values: new Float32Array([22]) });
});

test("a tensor that came once is not asked for again, also when the connection is gone", async () => {
  const source = start();
  latest().greet([PASS]);
  const window = windowWith({ num_columns: 1 });
  const first = source.tensor("p", "output", 1, window);
  latest().hear(frameOf(1, viewOf([1], {}), [5]));
  await first;
  latest().drop();
  expect(await source.tensor("p", "output", 1, window)).toMatchObject({ values: new Float32Array([5]) });
  expect(latest().sent.length).toBe(1);
});

test("a refusal becomes the reason why a tensor is missing, and is asked again the next time", async () => {
  const source = start();
  latest().greet([PASS]);
  const answer = source.tensor("p", "grad", 3, null);
  latest().hear({ type: "refusal", id: 1, message: "its gradient was not saved" });
  expect(await answer).toEqual({ missing: "its gradient was not saved" });
  void source.tensor("p", "grad", 3, null);
  expect(latest().sent.length).toBe(2);
});

test("a refused document says why", async () => {
  const source = start();
  latest().greet([PASS]);
  const opened = source.openPass("p");
  latest().hear({ type: "refusal", id: 1, message: "the file is cut short" });
  await expect(opened).rejects.toThrow("the file is cut short");
});

test("a document of a newer form is refused with the way out", async () => {
  const source = start();
  latest().greet([PASS]);
  const opened = source.openPass("p");
  latest().hear({ type: "document", id: 1, document: documentWith({ version: 99 }) });
  await expect(opened).rejects.toThrow("newer torcheer");
});

test("it connects again by itself, waiting longer each time, and asks again for what was pending", async () => {
  const source = start();
  latest().greet([PASS]);
  const pending = source.tensor("p", "output", 4, null);
  latest().drop();
  await settle();
  expect(source.connection.value.state).toBe("lost");
  expect(source.passes.value).toEqual([PASS]);

  await vi.advanceTimersByTimeAsync(999);
  expect(sockets.length).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(sockets.length).toBe(2);
  latest().drop();
  await vi.advanceTimersByTimeAsync(1999);
  expect(sockets.length).toBe(2);
  await vi.advanceTimersByTimeAsync(1);
  expect(sockets.length).toBe(3);

  latest().greet([PASS]);
  expect(source.connection.value.state).toBe("connected");
  expect(latest().sent).toMatchObject([{ type: "tensor", index: 4 }]);
  latest().hear(frameOf(1, viewOf([1], {}), [3]));
  expect(await pending).toMatchObject({ values: new Float32Array([3]) });
});

test("the wait stays within fifteen seconds", async () => {
  const source = start();
  for (let attempt = 0; attempt < 8; attempt++) {
    latest().drop();
    await settle();
    const connection = source.connection.value;
    if (connection.state !== "lost") throw new Error(connection.state);
    expect(connection.retryAt - Date.now()).toBeLessThanOrEqual(15_000);
    await vi.advanceTimersByTimeAsync(15_000);
  }
  expect(sockets.length).toBe(9);
});

test("trying now does not wait, and leaves no second attempt behind", async () => {
  const source = start();
  latest().drop();
  await settle();
  source.retryNow();
  expect(sockets.length).toBe(2);
  latest().greet([PASS]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(sockets.length).toBe(2);
  source.retryNow();
  expect(sockets.length).toBe(2);
});

test.each([401, 403])("a server that answers %d does not know the page, and it says so", async (answer) => {
  status = answer;
  const source = start();
  latest().drop();
  await settle();
  expect(source.connection.value.state).toBe("refused");
});

test("a page that was refused goes on when it is admitted again", async () => {
  status = 403;
  const source = start();
  latest().drop();
  await vi.advanceTimersByTimeAsync(1000);
  expect(source.connection.value.state).toBe("refused");
  latest().greet([PASS]);
  expect(source.connection.value.state).toBe("connected");
});

test("what does something is not sent again after the connection broke", async () => {
  const source = start();
  latest().greet();
  const asked = source.ask({ type: "control_do", control_id: "c", action: { type: "step", level: "trial", count: 1 } });
  const refused = expect(asked).rejects.toThrow("look whether it was done");
  latest().drop();
  await vi.advanceTimersByTimeAsync(1000);
  latest().greet();
  await refused;
  expect(latest().sent).toEqual([]);
});

test("a request over which the connection breaks again and again is given up", async () => {
  const source = start();
  const answer = source.tensor("p", "output", 9, null);
  for (let attempt = 0; attempt < 4; attempt++) {
    latest().greet([PASS]);
    latest().drop();
    await vi.advanceTimersByTimeAsync(2000);
  }
  expect(await answer).toHaveProperty("missing");
});

/** What somebody who follows has heard. */
function listening() {
  const heard: Answer[] = [];
  const refused: string[] = [];
  const listener: Listener = {
    hear: ({ answer }) => heard.push(answer),
    refuse: (reason) => refused.push(reason),
  };
  return { heard, refused, listener };
}

const NEWS = { type: "runs", folder: "runs", is_all: false, runs: [], gone: [], note: "" };

test("a question that is followed hears every answer until it is stopped", () => {
  const source = start();
  latest().greet();
  const { heard, listener } = listening();
  const stop = source.follow({ type: "runs" }, listener);
  latest().hear({ ...NEWS, id: 1 });
  latest().hear({ ...NEWS, id: 1 });
  expect(heard.length).toBe(2);
  stop();
  expect(latest().sent.at(-1)).toEqual({ type: "stop", id: 2, which: 1 });
  latest().hear({ ...NEWS, id: 1 });
  expect(heard.length).toBe(2);
  stop();
  expect(latest().sent.length).toBe(2);
});

test("after a lost connection it is asked again, as often as that happens", async () => {
  const source = start();
  const { heard, refused, listener } = listening();
  source.follow({ type: "index", run_ids: ["a"] }, listener);
  for (let attempt = 0; attempt < 6; attempt++) {
    latest().greet();
    expect(latest().sent).toEqual([{ type: "index", run_ids: ["a"], id: 1 }]);
    latest().hear({ type: "index", id: 1, runs: [] });
    latest().drop();
    await vi.advanceTimersByTimeAsync(1000);
  }
  expect(heard.length).toBe(6);
  expect(refused).toEqual([]);
});

test("what was stopped while the connection was lost is not asked again", async () => {
  const source = start();
  latest().greet();
  const stop = source.follow({ type: "runs" }, listening().listener);
  latest().drop();
  stop();
  await vi.advanceTimersByTimeAsync(1000);
  latest().greet();
  expect(latest().sent).toEqual([]);
});

test("what is stopped before it was ever sent is never sent", () => {
  const source = start();
  source.follow({ type: "runs" }, listening().listener)();
  latest().greet();
  expect(latest().sent).toEqual([]);
});

test("a refusal ends what is followed, and stopping it then says nothing", () => {
  const source = start();
  latest().greet();
  const { heard, refused, listener } = listening();
  const stop = source.follow({ type: "runs" }, listener);
  latest().hear({ type: "refusal", id: 1, message: "the folder is gone" });
  latest().hear({ ...NEWS, id: 1 });
  expect([heard.length, refused]).toEqual([0, ["the folder is gone"]]);
  stop();
  expect(latest().sent.length).toBe(1);
});

test("who is told while listening may stop, and others still hear", () => {
  const source = start();
  latest().greet();
  const other = listening();
  const stop = source.follow({ type: "runs" }, { hear: () => stop(), refuse: () => undefined });
  source.follow({ type: "runs" }, other.listener);
  latest().hear({ ...NEWS, id: 1 });
  latest().hear({ ...NEWS, id: 2 });
  expect(other.heard.length).toBe(1);
});

test("all that one message changes is seen at once", () => {
  const source = start();
  const seen: unknown[] = [];
  const stop = effect(() => {
    seen.push([source.hasRuns.value, source.passes.value.length, source.connection.value.state]);
  });
  latest().hear({ type: "hello", version: "1", has_runs: true, passes: [PASS] });
  expect(seen).toEqual([
    [null, 0, "connecting"],
    [true, 1, "connected"],
  ]);
  stop();
});

test("numbers come with their answer, from a multiple of eight on", async () => {
  const source = start();
  latest().greet();
  const asked = source.ask({ type: "record", run_id: "r", record: "rank-0:1" });
  latest().hear(frameOf(1, viewOf([2], { num_columns: 2 }, { encoding: "f8" }), [0.5, 0.25]));
  const { buffer, offset } = await asked;
  expect(offset % 8).toBe(0);
  expect([...new Float64Array(buffer, offset)]).toEqual([0.5, 0.25]);
});

test("a late word from a socket that was given up is not listened to", async () => {
  const source = start();
  const old = latest();
  old.drop();
  await vi.advanceTimersByTimeAsync(1000);
  latest().greet([PASS]);
  old.hear({ type: "hello", version: "1", passes: [] });
  old.drop();
  expect(source.connection.value.state).toBe("connected");
  expect(source.passes.value).toEqual([PASS]);
});
