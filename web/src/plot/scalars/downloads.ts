/** A chart as a file: its numbers as CSV, its picture as SVG. */
import { type Cell, fileName, save, toCsv } from "../../data/save-file";
import * as store from "../../data/store";
import { pathOf, short } from "../lines";
import { type Curve, curveOf } from "./curve";
import type { Line, Model } from "./model";
import { options } from "./options";
import {
  BAD_APART,
  bandOpacity,
  BEHIND_OPACITY,
  fromBelow,
  lineWidth,
  type Palette,
  RAW_OPACITY,
  runColour,
} from "./paint";
import { Feed } from "./series-feed";
import {
  axisLabels,
  badPlaces,
  boxOf,
  dotPlaces,
  dotRadius,
  endOf,
  type Frame,
  frameOf,
  labelPlaces,
  placeY,
  type Size,
  traceBand,
  traceLine,
  traceMargin,
} from "./shapes";

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

// --- The numbers of a chart as a table for other programs: one row for each point, or for each bucket of
//   them.

interface CsvSeries {
  readonly run: string;
  readonly name: string;
  readonly curve: Curve;
  /** When the run began. */
  readonly started: number;
}

const HEAD = ["run", "name", "step", "time", "relative_seconds", "value", "min", "max", "points", "not_finite"];

export function csvOf(series: readonly CsvSeries[]): string {
  const rows: Cell[][] = [HEAD];
  for (const { run, name, curve, started } of series) {
    for (let at = 0; at < curve.size; at++) {
      const time = curve.time[at]!;
      // What double arithmetic adds beyond a microsecond is no time.
      const relative = Math.round((time - started) * 1e6) / 1e6;
      const values = [curve.mean[at]!, curve.low[at]!, curve.high[at]!, curve.count[at]!, curve.bad[at]!];
      rows.push([run, name, curve.step[at]!, time, relative, ...values]);
    }
  }
  return toCsv(rows);
}

// --- A chart as an SVG file: the same shapes as on the page, with title and legend.

const TITLE_HEIGHT = 28;
const LEGEND_ROW = 18;
const TEXT_WIDTH = 6.2; // of a digit or letter of 11 pixels, more or less
/** Faces that any viewer has: the page's own may not be there. */
const FONT = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";

/** Text and attributes may hold anything that somebody named a run. */
function escaped(text: string): string {
  return text
    .replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, "\ufffd")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

function measure(text: string): number {
  return TEXT_WIDTH * text.length;
}

export function chartSvg(model: Model, size: Size, palette: Palette): string {
  const { width } = size;
  const named = model.lines.filter(({ isBehind }) => !isBehind);
  const height = TITLE_HEIGHT + size.height + LEGEND_ROW * named.length + 8;
  const frame = frameOf(model, size, measure);
  const title = escaped(model.chart.fullTitle);
  const parts = [
    `<?xml version="1.0" encoding="UTF-8"?>`,
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" font-family="${FONT}" font-size="11">`,
    `<title>${title}</title>`,
    `<rect width="${width}" height="${height}" fill="${palette.surface}"/>`,
    `<text x="12" y="18" font-size="13" font-weight="600" fill="${palette.text}">${title}</text>`,
    `<g transform="translate(0 ${TITLE_HEIGHT})">`,
    ...(frame === null ? [emptyNote(model, size, palette)] : drawing(model, frame, palette)),
    `</g>`,
    ...named.map((line, at) => legendRow(line, TITLE_HEIGHT + size.height + at * LEGEND_ROW + 12, palette)),
    `</svg>`,
  ];
  return `${parts.join("\n")}\n`;
}

function emptyNote(model: Model, size: Size, palette: Palette): string {
  const { left, top, height } = boxOf(size, 0);
  const note = model.note === "" ? "No values." : model.note;
  return `<text x="${left}" y="${top + height / 2}" fill="${palette.text3}">${escaped(note)}</text>`;
}

function drawing(model: Model, frame: Frame, palette: Palette): string[] {
  const { left, top, width, height } = frame.box;
  const lines = fromBelow(model);
  return [
    `<clipPath id="plot"><rect x="${left - 1}" y="${top - 3}" width="${width + 2}" height="${height + 6}"/></clipPath>`,
    ...axes(model, frame, palette),
    `<g clip-path="url(#plot)" fill="none" stroke-linejoin="round" stroke-linecap="round">`,
    ...lines.flatMap((line) => behind(line, frame, runColour(palette, line.run.slot), model)),
    ...lines.map((line) => lineElement(line, frame, runColour(palette, line.run.slot), lineWidth(line, model))),
    `</g>`,
    ...lines.flatMap((line) => dots(line, frame, runColour(palette, line.run.slot))),
    ...model.lines.flatMap((line) => marks(line, frame, palette)),
    ...labelPlaces(model, frame).map(
      ({ text, x, y }) =>
        `<text x="${short(x)}" y="${short(y)}" text-anchor="end" fill="${palette.text2}" stroke="${palette.surface}" stroke-width="3" paint-order="stroke">${escaped(text)}</text>`,
    ),
  ];
}

function axes(model: Model, frame: Frame, palette: Palette): string[] {
  const { left, top, width, height } = frame.box;
  const right = left + width;
  const rows = model.yTicks.map(({ value, label }) => {
    const y = placeY(frame, value);
    return (
      `<path d="M${left} ${Math.round(y) + 0.5}H${right}" stroke="${palette.line}"/>` +
      `<text x="${left - 6}" y="${short(y + 4)}" text-anchor="end" fill="${palette.text3}">${label}</text>`
    );
  });
  const base = `<path d="M${left} ${top + height + 0.5}H${right}" stroke="${palette.line2}"/>`;
  const columns = axisLabels(model, frame, measure).map(
    ({ label, place }) =>
      `<text x="${short(place)}" y="${top + height + 15}" fill="${palette.text3}">${escaped(label)}</text>`,
  );
  return [...rows, base, ...columns];
}

function behind({ curve, margin, isBehind }: Line, frame: Frame, colour: string, { isSmoothed, lines }: Model): string[] {
  if (isBehind) return [];
  const parts: string[] = [];
  const fill = (d: string): string => `<path d="${d}" fill="${colour}" opacity="${bandOpacity(lines.length)}"/>`;
  if (margin !== null) parts.push(fill(pathOf((pen) => traceMargin(frame, ...margin, pen))));
  else if (curve.hasBuckets) parts.push(fill(pathOf((pen) => traceBand(frame, curve, pen))));
  if (isSmoothed) {
    const d = pathOf((pen) => traceLine(frame, curve, curve.mean, pen));
    parts.push(`<path d="${d}" stroke="${colour}" opacity="${RAW_OPACITY}"/>`);
  }
  return parts;
}

function dashes({ dash }: Line): string {
  return dash.length === 0 ? "" : ` stroke-dasharray="${dash.join(" ")}"`;
}

function lineElement(line: Line, frame: Frame, colour: string, width: number): string {
  const d = pathOf((pen) => traceLine(frame, line.curve, line.smoothed, pen));
  return `<path d="${d}" stroke="${colour}" stroke-width="${width}"${line.isBehind ? ` opacity="${BEHIND_OPACITY}"` : ""}${dashes(line)}/>`;
}

function dots(line: Line, frame: Frame, colour: string): string[] {
  const places = line.isBehind ? [] : dotPlaces(frame, line);
  const radius = dotRadius(places.length, frame);
  return places.map(([x, y]) => `<circle cx="${short(x)}" cy="${short(y)}" r="${radius}" fill="${colour}"/>`);
}

function marks(line: Line, frame: Frame, palette: Palette): string[] {
  const bottom = frame.box.top + frame.box.height;
  const bad = badPlaces(frame, line.curve, BAD_APART).map(
    (x) => `<path d="M${short(x - 3)} ${bottom + 1}L${short(x)} ${bottom - 5}L${short(x + 3)} ${bottom + 1}Z" fill="${palette.danger}"/>`,
  );
  const end = line.run.end === "plain" || line.isBehind ? null : endOf(line, frame);
  if (end === null) return bad;
  const [x, y] = end;
  const colour = runColour(palette, line.run.slot);
  const mark =
    line.run.end === "died"
      ? `<path d="M${short(x - 3.5)} ${short(y - 3.5)}l7 7m0 -7l-7 7" stroke="${colour}" stroke-width="2" fill="none"/>`
      : `<circle cx="${short(x)}" cy="${short(y)}" r="3.5" fill="${palette.surface}" stroke="${colour}" stroke-width="1.5"/>`;
  return [...bad, mark];
}

function legendRow(line: Line, y: number, palette: Palette): string {
  const colour = runColour(palette, line.run.slot);
  return (
    `<path d="M12 ${y}H36" stroke="${colour}" stroke-width="2"${dashes(line)}/>` +
    `<text x="44" y="${y + 4}" fill="${palette.text2}">${escaped(line.label)}</text>`
  );
}
