/** Text that is cut with an ellipsis where it is too long for its room. */

type Align = "left" | "right" | "center";

interface Fitted {
  readonly text: string;
  readonly width: number;
}

/** More than this many cut texts are not remembered. */
const MOST_KNOWN = 20_000;

export class TextFitter {
  private readonly known = new Map<string, Fitted>();
  private font = "";

  use(context: CanvasRenderingContext2D, font: string): void {
    if (font !== this.font) this.known.clear();
    this.font = font;
    context.textBaseline = "middle";
  }

  /** Returns the width that was used. A ground keeps lines that run behind the text off it. */
  draw(
    context: CanvasRenderingContext2D,
    text: string,
    x: number,
    y: number,
    room: number,
    colour: string,
    align: Align,
    isTitle = false,
    ground: string | null = null,
  ): number {
    if (room < 8 || text === "") return 0;
    context.font = `${isTitle ? 500 : 400} 11px ${this.font}`;
    const fitted = this.fit(context, text, room, isTitle);
    context.textAlign = align;
    if (ground !== null) rim(context, fitted.text, x, y, ground);
    context.fillStyle = colour;
    context.fillText(fitted.text, x, y);
    return fitted.width;
  }

  /** At any size, on a ground of its own. */
  drawLarge(
    context: CanvasRenderingContext2D,
    text: string,
    x: number,
    y: number,
    room: number,
    size: number,
    colour: string,
    ground: string,
  ): number {
    context.font = `500 11px ${this.font}`;
    const { text: cut, width } = this.fit(context, text, (room * 11) / size, true);
    const factor = size / 11;
    context.font = `500 ${size}px ${this.font}`;
    context.fillStyle = ground;
    context.globalAlpha = 0.85;
    context.fillRect(x - size * 0.3, y - size * 0.7, width * factor + size * 0.6, size * 1.4);
    context.globalAlpha = 1;
    context.fillStyle = colour;
    context.textAlign = "left";
    context.fillText(cut, x, y);
    return width * factor;
  }

  private fit(context: CanvasRenderingContext2D, text: string, room: number, isTitle: boolean): Fitted {
    const name = `${isTitle ? "t" : "s"}${Math.round(room)} ${text}`;
    const known = this.known.get(name);
    if (known !== undefined) return known;
    const found = cut(context, text, room);
    if (this.known.size >= MOST_KNOWN) this.known.clear();
    this.known.set(name, found);
    return found;
  }
}

/** Keeps lines off the letters. */
function rim(context: CanvasRenderingContext2D, text: string, x: number, y: number, ground: string): void {
  context.lineJoin = "round";
  context.lineWidth = 5;
  context.strokeStyle = ground;
  context.strokeText(text, x, y);
  // As it was, so that the next frame begins as this one did.
  context.lineJoin = "miter";
}

function cut(context: CanvasRenderingContext2D, text: string, room: number): Fitted {
  const width = context.measureText(text).width;
  if (width <= room) return { text, width };
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(`${text.slice(0, middle)}…`).width <= room) low = middle;
    else high = middle - 1;
  }
  const short = `${text.slice(0, low).trimEnd()}…`;
  return { text: short, width: context.measureText(short).width };
}
