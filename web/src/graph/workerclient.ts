/** Start the layout in a worker or, where none can start, in the page itself. */
import { LayoutDesk, type LayoutQuestion, type LayoutReply } from "./layoutdesk";

export interface LayoutWorker {
  readonly ask: (question: LayoutQuestion) => void;
  readonly stop: () => void;
}

/** `hear` gets every reply, always after `ask` has returned. */
export function startLayoutWorker(hear: (reply: LayoutReply) => void): LayoutWorker {
  const asked: LayoutQuestion[] = [];
  let worker = newWorker();
  let desk: LayoutDesk | null = null;
  let hasAnswered = false;
  const askHere = (question: LayoutQuestion): void => {
    desk ??= new LayoutDesk(hear);
    const here = desk;
    setTimeout(() => here.ask(question));
  };
  if (worker !== null) {
    worker.onmessage = (event: MessageEvent<LayoutReply>) => {
      hasAnswered = true;
      asked.length = 0;
      hear(event.data);
    };
    // A worker that may not start (a policy, a browser that forbids it for files) says so only now.
    worker.onerror = (event) => {
      event.preventDefault();
      if (hasAnswered) return;
      worker?.terminate();
      worker = null;
      for (const question of asked.splice(0)) askHere(question);
    };
  }
  return {
    ask: (question) => {
      if (worker === null) {
        askHere(question);
        return;
      }
      if (!hasAnswered) asked.push(question);
      worker.postMessage(question);
    },
    stop: () => worker?.terminate(),
  };
}

/** The one-file page carries the worker as text; a page from a server names its address. */
function newWorker(): Worker | null {
  const text = document.getElementById("torcheer-worker")?.textContent ?? "";
  const address = document.querySelector<HTMLMetaElement>('meta[name="torcheer-worker"]')?.content ?? "";
  try {
    if (text !== "") return new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
    if (address !== "") return new Worker(new URL(address, document.baseURI));
  } catch {
    // The page lays out by itself then.
  }
  return null;
}
