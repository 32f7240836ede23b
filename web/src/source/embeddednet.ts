/** The source of a page that is one file and shows a network: it answers by itself what a NetView asks. */
import { signal } from "@preact/signals";
import type { SeriesListing } from "../wire";
import { answerRaster, answerUnit, answerUnitSeries, answerValues, plainReply } from "./embeddednetanswers";
import { NetData } from "./embeddednetdata";
import { answerWeights } from "./embeddednetweights";
import { PasslessSource } from "./embeddedpassless";
import { Refusal } from "./source";
import type { Asked, Listener, Reply } from "./source";

/** What the list of runs needs to know: there is a network in it. */
const NETWORK: SeriesListing = {
  kind: "netview",
  name: "netview",
  count: 1,
  last_step: 0,
  last_time: 0,
  last_value: null,
  num_bad: 0,
  first_bad_step: null,
  description: "",
};

export class EmbeddedNetSource extends PasslessSource {
  readonly hasRuns = signal<boolean | null>(true);
  readonly hasLessons = signal<boolean | null>(false);
  readonly #data: NetData;

  /** Throws where the text is no data of a page. */
  constructor(json: string) {
    super();
    this.#data = new NetData(json);
  }

  ask(question: Asked): Promise<Reply> {
    return this.#answer(question).catch((reason: unknown) => {
      if (reason instanceof Refusal) throw reason;
      const detail = reason instanceof Error ? reason.message : String(reason);
      throw new Refusal(`These values cannot be read (${detail}). Write the file again with view.write_html(path).`);
    });
  }

  async #answer(question: Asked): Promise<Reply> {
    switch (question.type) {
      case "net_values":
        return answerValues(this.#data, question);
      case "net_unit":
        return answerUnit(this.#data, question);
      case "net_unit_series":
        return answerUnitSeries(this.#data, question);
      case "net_raster":
        return answerRaster(this.#data, question);
      case "net_weights":
        return answerWeights(this.#data, question);
      default:
        throw notHere(question);
    }
  }

  /** One answer, a moment later, as that of a server; nothing more will come. */
  follow(question: Asked, listener: Listener): () => void {
    let isWanted = true;
    queueMicrotask(() => {
      if (!isWanted) return;
      const reply = this.#known(question);
      if (reply === null) listener.refuse(notHere(question).message);
      else listener.hear(reply);
    });
    return () => {
      isWanted = false;
    };
  }

  #known(question: Asked): Reply | null {
    const { scene, moments, run } = this.#data.net;
    switch (question.type) {
      case "net_scene":
        return plainReply(scene);
      case "net_moments":
        return plainReply(moments);
      case "runs":
        return plainReply({ type: "runs", id: 0, folder: "", is_all: true, runs: [run], gone: [], note: "" });
      case "index":
        return plainReply({ type: "index", id: 0, runs: [{ run_id: run.id, is_all: true, series: [NETWORK] }] });
      default:
        return null;
    }
  }
}

function notHere({ type }: Asked): Refusal {
  if (!type.startsWith("net_")) return new Refusal(`This file has no answer to ${type}.`);
  // Analyses go through all items of a run.
  return new Refusal("This is not in the file, which has values only: view.show() and torcheer view show it.");
}
