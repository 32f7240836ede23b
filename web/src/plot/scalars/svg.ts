/** What is drawn on a canvas, as the elements of an SVG file: charts on the page and in files have the same shapes. */
import { short } from "../lines";
import type { Canvas } from "./paint";

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
