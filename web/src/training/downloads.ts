/** A chart as a file: its numbers as CSV, its picture as SVG. */
import { fileName, save } from "../files/saving";
import * as store from "../store";
import { csvOf, type CsvSeries } from "./csv";
import { curveOf } from "./curve";
import { Feed } from "./feed";
import type { Model } from "./model";
import { options } from "./options";
import type { Palette } from "./palette";
import { chartSvg } from "./svg";

/** As many as a question may ask for: up to so many points of a series come as they were logged. */
const MOST_BUCKETS = 4096;
const SVG_SIZE = { width: 720, height: 380 };

/** What the chart shows, zoomed as it is, in the finest grain there is. */
export function downloadCsv(model: Model): void {
  const source = store.source.peek();
  // Without a connection, what the page knows has to do.
  if (source?.connection.peek().state !== "connected") {
    saveCsv(model, model.lines.map((line) => ({
        run: line.run.name,
        name: line.member.name,
        curve: line.curve,
        started: line.started,
      })));
    return;
  }
  const { axis, zoom } = options.peek();
  const query = { axis, low: zoom?.low ?? null, high: zoom?.high ?? null, num_buckets: MOST_BUCKETS };
  const feed = new Feed(source, query, (run) => run());
  const names = model.chart.members.map(({ name }) => name);
  const runs = [...new Map(model.lines.map(({ run }) => [run.id, run])).values()];
  const wanted = runs.flatMap(({ id }) => names.map((name) => ({ run_id: id, name })));
  const finish = (): void => {
    const known = wanted.map(({ run_id, name }) => feed.known(run_id, name));
    if (!known.every((one) => one?.isAnswered === true || one?.refusal !== "")) return;
    // Only once: the points that come later are for another file.
    queueMicrotask(stop);
    const series = runs.flatMap((run) =>
      names.flatMap((name) => {
        const data = feed.known(run.id, name)?.data;
        if (data === undefined || data.size === 0) return [];
        return [{ run: run.name, name, curve: curveOf(data, null, axis), started: data.started }];
      }),
    );
    if (!isDone) saveCsv(model, series);
    isDone = true;
  };
  let isDone = false;
  const stop = feed.use(wanted, finish);
}

function saveCsv(model: Model, series: readonly CsvSeries[]): void {
  save(fileName([model.chart.fullTitle], "csv"), csvOf(series), "text/csv");
}

export function downloadSvg(model: Model, palette: Palette): void {
  save(fileName([model.chart.fullTitle], "svg"), chartSvg(model, SVG_SIZE, palette), "image/svg+xml");
}
