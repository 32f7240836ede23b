/** A chart as a file: its numbers as CSV, its picture as SVG. */
import { type Cell, fileName, save, toCsv } from "../../data/save-file";
import * as store from "../../data/store";
import { type Ink, readInk } from "../Drawing";
import { short } from "../lines";
import { type Curve, curveOf, type Line, type Model } from "./model";
import { options } from "./options";
import { boxOf, type Canvas, frameOf, paintChart, runColour, type Size } from "./paint";
import { Feed } from "./series-feed";

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

export function downloadSvg(model: Model): void {
  save(fileName([model.chart.fullTitle], "svg"), chartSvg(model, SVG_SIZE, readInk()), "image/svg+xml");
}

interface CsvSeries {
  readonly run: string;
  readonly name: string;
  readonly curve: Curve;
  /** When the run began. */
  readonly started: number;
}

const HEAD = ["run", "name", "step", "time", "relative_seconds", "value", "min", "max", "points", "not_finite"];

/** The numbers of a chart as a table for other programs: one row for each point, or for each bucket of them. */
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

const TITLE_HEIGHT = 28;
const LEGEND_ROW = 18;
/** Faces that any viewer has: the page's own may not be there. */
const FONT = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";

/** A chart as an SVG file: drawn as on the page, with title and legend. */
export function chartSvg(model: Model, size: Size, ink: Ink): string {
  const { width } = size;
  const named = model.lines.filter(({ isBehind }) => !isBehind);
  const height = TITLE_HEIGHT + size.height + LEGEND_ROW * named.length + 8;
  const title = escaped(model.chart.fullTitle);
  const parts = [
    `<?xml version="1.0" encoding="UTF-8"?>`,
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" font-family="${FONT}" font-size="11">`,
    `<title>${title}</title>`,
    `<rect width="${width}" height="${height}" fill="${ink.surface}"/>`,
    `<text x="12" y="18" font-size="13" font-weight="600" fill="${ink.text}">${title}</text>`,
    `<g transform="translate(0 ${TITLE_HEIGHT})">`,
    ...drawing(model, size, ink),
    `</g>`,
    ...named.map((line, at) => legendRow(line, TITLE_HEIGHT + size.height + at * LEGEND_ROW + 12, ink)),
    `</svg>`,
  ];
  return `${parts.join("\n")}\n`;
}

function drawing(model: Model, size: Size, ink: Ink): readonly string[] {
  const canvas = new SvgCanvas();
  const frame = frameOf(model, size, (text) => canvas.measureText(text).width);
  if (frame !== null) paintChart(canvas, model, frame, ink);
  else {
    const { left, top, height } = boxOf(size, 0);
    canvas.fillStyle = ink.caption;
    canvas.fillText(model.note === "" ? "No values." : model.note, left, top + height / 2);
  }
  return canvas.elements;
}

function legendRow({ run, dash, label }: Line, y: number, ink: Ink): string {
  const dashes = dash.length === 0 ? "" : ` stroke-dasharray="${dash.join(" ")}"`;
  return (
    `<path d="M12 ${y}H36" stroke="${runColour(ink, run.slot)}" stroke-width="2"${dashes}/>` +
    `<text x="44" y="${y + 4}" fill="${ink.text2}">${escaped(label)}</text>`
  );
}

// --- What is drawn on a canvas, as the elements of an SVG file: charts on the page and in files have the same shapes.

const TEXT_WIDTH = 6.2; // of a digit or letter of 11 pixels, more or less
const ANCHORS: Readonly<Record<string, string>> = { right: "end", center: "middle" };

/** Text and attributes may hold anything that somebody named a run. */
export function escaped(text: string): string {
  return text
    .replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, "\ufffd")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

export class SvgCanvas implements Canvas {
  readonly elements: string[] = [];
  font = "";
  fillStyle: Canvas["fillStyle"] = "";
  strokeStyle: Canvas["strokeStyle"] = "";
  lineWidth = 1;
  lineJoin: CanvasLineJoin = "miter";
  lineCap: CanvasLineCap = "butt";
  textAlign: CanvasTextAlign = "left";
  textBaseline: CanvasTextBaseline = "alphabetic";
  globalAlpha = 1;
  #dashes: readonly number[] = [];
  #path = "";
  /** A circle by itself is one in the file, too. */
  #circle = "";

  measureText(text: string): TextMetrics {
    return { width: TEXT_WIDTH * text.length } as TextMetrics;
  }

  setLineDash(dashes: readonly number[]): void {
    this.#dashes = dashes;
  }

  beginPath(): void {
    [this.#path, this.#circle] = ["", ""];
  }

  moveTo(x: number, y: number): void {
    this.#path += `M${short(x)} ${short(y)}`;
  }

  lineTo(x: number, y: number): void {
    this.#path += `L${short(x)} ${short(y)}`;
  }

  closePath(): void {
    this.#path += "Z";
  }

  rect(x: number, y: number, width: number, height: number): void {
    this.#path += `M${short(x)} ${short(y)}h${short(width)}v${short(height)}h${short(-width)}Z`;
  }

  /** Whole circles only. */
  arc(x: number, y: number, radius: number): void {
    this.#circle = `circle cx="${short(x)}" cy="${short(y)}" r="${radius}"`;
  }

  fill(): void {
    this.#put(`fill="${inkOf(this.fillStyle)}"`);
  }

  stroke(): void {
    const dashes = this.#dashes.length === 0 ? "" : ` stroke-dasharray="${this.#dashes.join(" ")}"`;
    const ends = ` stroke-linejoin="${this.lineJoin}" stroke-linecap="${this.lineCap}"`;
    this.#put(`fill="none" stroke="${inkOf(this.strokeStyle)}" stroke-width="${this.lineWidth}"${ends}${dashes}`);
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    this.beginPath();
    this.rect(x, y, width, height);
    this.fill();
  }

  fillText(text: string, x: number, y: number): void {
    this.#write(text, x, y, `fill="${inkOf(this.fillStyle)}"`);
  }

  strokeText(text: string, x: number, y: number): void {
    this.#write(text, x, y, `fill="none" stroke="${inkOf(this.strokeStyle)}" stroke-width="${this.lineWidth}"`);
  }

  save(): void {
    this.elements.push("<g>");
  }

  restore(): void {
    this.elements.push("</g>");
  }

  /** Of what follows up to `restore`. */
  clip(): void {
    this.elements.splice(this.elements.lastIndexOf("<g>"), 1, `<clipPath id="plot"><path d="${this.#path}"/></clipPath>`, `<g clip-path="url(#plot)">`);
  }

  #put(look: string): void {
    const shape = this.#circle === "" ? `path d="${this.#path}"` : this.#circle;
    const opacity = this.globalAlpha === 1 ? "" : ` opacity="${this.globalAlpha}"`;
    if (this.#path + this.#circle !== "") this.elements.push(`<${shape} ${look}${opacity}/>`);
  }

  #write(text: string, x: number, y: number, look: string): void {
    const anchor = ANCHORS[this.textAlign];
    const place = `x="${short(x)}" y="${short(this.textBaseline === "middle" ? y + 4 : y)}"`;
    this.elements.push(`<text ${place}${anchor === undefined ? "" : ` text-anchor="${anchor}"`} ${look}>${escaped(text)}</text>`);
  }
}

function inkOf(style: Canvas["fillStyle"]): string {
  return typeof style === "string" ? style : "none";
}
