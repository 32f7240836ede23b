/** Plates by WebGL2: one texture of levels for each, one look-up texture for all, one call to draw its units. */
import type { PlateValues } from "../../data/network/store";
import { LEAST_HEIGHT } from "../../data/network/value-ranges";
import type { Rgb } from "../../ui/colour-scale";
import { eyeOf, pixelsPerUnit } from "../camera";
import { clear, keepPixels, link, openGl, type Program, shades } from "../webgl";
import { type Frame, type PaintedPlate, SEGMENT_FLOATS, type Segments } from "./frame";
import { marginsOf, onPlate, type Plate } from "./plates";
import {
  BARS_FRAGMENT,
  BARS_VERTEX,
  FIELD_FRAGMENT,
  FIELD_VERTEX,
  FLAT_FRAGMENTS,
  LINE_FRAGMENT,
  LINE_VERTEX,
  PLATE_FRAGMENT,
  PLATE_VERTEX,
  TEXTURE_WIDTH,
} from "./shaders";

const FILL = 0.82;
/** How much of the faint ink the stripes of what is not there have. */
const HATCH = { dark: 0.4, pale: 0.12 };
const POLL_MS = 3;

type Flats = Record<keyof typeof FLAT_FRAGMENTS, Program>;

export class GlPainter {
  readonly #gl: WebGL2RenderingContext;
  readonly #plate: Program;
  readonly #flats: Flats;
  readonly #bars: Program;
  readonly #field: Program;
  readonly #smooth: SmoothTarget;
  readonly #lines: LinePainter;
  /** A level for each unit. */
  readonly levels: LevelTextures;
  readonly #ramp: WebGLTexture;
  readonly #nothing: WebGLVertexArrayObject;
  #poll: ReturnType<typeof setTimeout> | undefined;
  #isLost = false;

  /** Throws where the browser has no WebGL2. */
  constructor(canvas: HTMLCanvasElement) {
    const gl = openGl(canvas, true);
    this.#gl = gl;
    canvas.addEventListener("webglcontextlost", () => (this.#isLost = true), { once: true });
    this.#plate = link(gl, PLATE_VERTEX, PLATE_FRAGMENT);
    const flats = Object.entries(FLAT_FRAGMENTS).map(([kind, text]) => [kind, link(gl, PLATE_VERTEX, text)]);
    this.#flats = Object.fromEntries(flats) as Flats;
    this.#bars = link(gl, BARS_VERTEX, BARS_FRAGMENT);
    this.#field = link(gl, FIELD_VERTEX, FIELD_FRAGMENT);
    this.#smooth = new SmoothTarget(gl);
    this.#lines = new LinePainter(gl);
    this.levels = new LevelTextures(gl);
    this.#ramp = gl.createTexture();
    this.#nothing = gl.createVertexArray();
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.depthFunc(gl.LEQUAL);
  }

  /** 256 colours, four bytes each. */
  setRamp(bytes: Uint8ClampedArray): void {
    const gl = this.#gl;
    gl.bindTexture(gl.TEXTURE_2D, this.#ramp);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(bytes));
    keepPixels(gl);
  }

  paint(frame: Frame): void {
    const gl = this.#gl;
    const [width, height] = [gl.drawingBufferWidth, gl.drawingBufferHeight];
    if (!frame.isQuick) this.#smooth.begin(width, height);
    gl.depthMask(true);
    clear(gl, frame.inks.canvas);
    // Flat, all lies in one plane: what comes later is above.
    if (frame.camera.isFlat) gl.disable(gl.DEPTH_TEST);
    else gl.enable(gl.DEPTH_TEST);
    this.#lines.load([...frame.plates.map((plate) => plate.linesBefore), frame.linesAfter]);
    for (const [at, plate] of frame.plates.entries()) {
      this.#drawLines(frame, at, plate.linesBefore);
      gl.bindVertexArray(this.#nothing);
      this.#drawFlat(frame, plate);
      if (plate.form === "bars") this.#drawBars(frame, plate);
      else if (plate.form === "field") this.#drawField(frame, plate);
    }
    this.#drawLines(frame, frame.plates.length, frame.linesAfter);
    gl.bindVertexArray(null);
    if (!frame.isQuick) this.#smooth.end();
  }

  #drawLines(frame: Frame, part: number, segments: Segments): void {
    if (segments.count === 0) return;
    const { camera, size, ratio } = frame;
    const focal = pixelsPerUnit(camera, size) * ratio * (camera.isFlat ? 1 : camera.distance);
    this.#gl.depthMask(false);
    this.#lines.draw(part, segments.count, frame.matrix, size.width * ratio, size.height * ratio, focal);
  }

  /** The plate itself, and on it its units where they lie flat. */
  #drawFlat(frame: Frame, painted: PaintedPlate): void {
    const gl = this.#gl;
    const isPicture = painted.form === "flat" && painted.scaling !== null;
    const program = isPicture ? this.#flatOf(frame, painted) : this.#plate;
    const { at } = program;
    if (isPicture) this.#use(program, frame, painted);
    else this.#useEmpty(program, frame, painted);
    gl.uniform2f(at("margin"), ...marginsOf(painted.plate));
    gl.uniform2f(at("extent"), painted.plate.cells.columns, painted.plate.cells.rows);
    gl.uniform4f(at("fill"), ...shades(frame.inks.surface), FILL);
    // What is behind shines through a plate, and lines may cross it; not through its units.
    gl.depthMask(isPicture);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
  }

  #flatOf(frame: Frame, { plate }: PaintedPlate): Program {
    const isColour = plate.cells.colourStride > 0;
    if (frame.isQuick) return isColour ? this.#flats.quickPicture : this.#flats.quickValues;
    return isColour ? this.#flats.picture : this.#flats.values;
  }

  #useEmpty(program: Program, frame: Frame, painted: PaintedPlate): void {
    const gl = this.#gl;
    const { surface, faint, quiet } = frame.inks;
    const isHatched = painted.isMissing;
    this.#place(program, frame, painted.plate);
    gl.uniform3f(program.at("dark"), ...shades(isHatched ? mixed(surface, faint, HATCH.dark) : quiet));
    gl.uniform3f(program.at("pale"), ...shades(isHatched ? mixed(surface, faint, HATCH.pale) : quiet));
    gl.uniform1f(program.at("covers"), isHatched ? 1 : painted.isWaiting ? 0.5 : 0);
  }

  #drawBars(frame: Frame, painted: PaintedPlate): void {
    const gl = this.#gl;
    const { at } = this.#bars;
    const { columns, rows } = painted.plate.cells;
    const eye = onPlate(painted.plate, eyeOf(frame.camera));
    this.#use(this.#bars, frame, painted);
    gl.uniform3f(at("eye"), ...eye);
    gl.uniform2i(at("isReversed"), Number(eye[0] < columns / 2), Number(eye[1] < rows / 2));
    gl.depthMask(true);
    gl.drawArrays(gl.TRIANGLES, 0, columns * rows * 18);
  }

  #drawField(frame: Frame, painted: PaintedPlate): void {
    const gl = this.#gl;
    const { at } = this.#field;
    const { columns, rows } = painted.plate.cells;
    this.#use(this.#field, frame, painted);
    gl.uniform3f(at("eye"), ...onPlate(painted.plate, eyeOf(frame.camera)));
    gl.uniform3f(at("extent"), columns, rows, painted.highest);
    gl.depthMask(true);
    gl.enable(gl.CULL_FACE);
    // The far sides: they are there also when the eye is inside the box.
    gl.cullFace(gl.FRONT);
    gl.drawArrays(gl.TRIANGLES, 0, 36);
    gl.disable(gl.CULL_FACE);
  }

  #place({ program, at }: Program, frame: Frame, plate: Plate): void {
    const gl = this.#gl;
    gl.useProgram(program);
    gl.uniformMatrix4fv(at("view"), false, frame.matrix);
    for (const name of ["origin", "across", "down", "up"] as const) gl.uniform3f(at(name), ...plate[name]);
  }

  #use(program: Program, frame: Frame, painted: PaintedPlate): void {
    const gl = this.#gl;
    const { at } = program;
    const { cells } = painted.plate;
    const { tileColumns, tileRows, gap } = cells;
    const scaling = painted.scaling!;
    this.#place(program, frame, painted.plate);
    gl.uniform2i(at("cells"), cells.columns, cells.rows);
    gl.uniform4f(at("tiles"), tileColumns, tileRows, tileColumns + gap, tileRows + gap);
    gl.uniform4i(at("strides"), cells.tileStride, cells.rowStride, cells.columnStride, cells.tilesAcross);
    gl.uniform1i(at("count"), cells.count);
    gl.uniform1i(at("colourStride"), cells.colourStride);
    gl.uniform2f(at("tint"), scaling.tintSlope, scaling.tintStart);
    gl.uniform2f(at("rise"), scaling.riseSlope, scaling.riseStart);
    gl.uniform1i(at("isMagnitude"), Number(scaling.isMagnitude));
    gl.uniform2f(at("range"), ...painted.colourRange);
    gl.uniform1f(at("leastHeight"), LEAST_HEIGHT);
    gl.uniform1f(at("fading"), frame.fading);
    gl.uniform1f(at("inset"), painted.inset);
    // Around a kernel lies much that is not there: it stays quiet.
    const isFaint = frame.isOfUnit;
    gl.uniform2f(at("notThere"), isFaint ? HATCH.pale : HATCH.dark, HATCH.pale);
    for (const name of ["danger", "faint", "surface"] as const) gl.uniform3f(at(name), ...shades(frame.inks[name]));
    gl.uniform1i(at("levels"), 0);
    gl.uniform1i(at("ramp"), 1);
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, this.#ramp);
    gl.activeTexture(gl.TEXTURE0);
    this.levels.bind(painted.plate.layer.name);
  }

  /** How long a frame took on the card, when that is known. */
  measure(onKnown: (milliseconds: number) => void): void {
    const gl = this.#gl;
    clearTimeout(this.#poll);
    const start = performance.now();
    const fence = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    if (fence === null) return;
    gl.flush();
    const look = (): void => {
      const state = gl.clientWaitSync(fence, 0, 0);
      if (state === gl.TIMEOUT_EXPIRED) {
        this.#poll = setTimeout(look, POLL_MS);
        return;
      }
      gl.deleteSync(fence);
      if (state !== gl.WAIT_FAILED) onKnown(performance.now() - start);
    };
    this.#poll = setTimeout(look, POLL_MS);
  }

  dispose(): void {
    const gl = this.#gl;
    clearTimeout(this.#poll);
    // With a card that was taken away went all that was on it, also where it is back.
    if (this.#isLost) return;
    this.levels.dispose();
    this.#lines.dispose();
    this.#smooth.dispose();
    gl.deleteTexture(this.#ramp);
    gl.deleteVertexArray(this.#nothing);
    for (const { program } of [this.#plate, ...Object.values(this.#flats), this.#bars, this.#field]) gl.deleteProgram(program);
  }
}

function mixed(from: Rgb, to: Rgb, share: number): Rgb {
  const part = (at: 0 | 1 | 2): number => from[at] + (to[at] - from[at]) * share;
  return [part(0), part(1), part(2)];
}

// --- Frames with smooth edges: drawn into a buffer of four samples a pixel, then onto the canvas.

const MOST_SAMPLES = 4;

/** Beside the canvas, which has one sample a pixel: frames that have to be quick are drawn there at once. */
class SmoothTarget {
  readonly #gl: WebGL2RenderingContext;
  readonly #frame: WebGLFramebuffer;
  readonly #colours: WebGLRenderbuffer;
  readonly #depths: WebGLRenderbuffer;
  readonly #samples: number;
  #size = { width: 0, height: 0 };
  #isWorking = true;

  constructor(gl: WebGL2RenderingContext) {
    this.#gl = gl;
    this.#frame = gl.createFramebuffer();
    this.#colours = gl.createRenderbuffer();
    this.#depths = gl.createRenderbuffer();
    this.#samples = Math.min(MOST_SAMPLES, gl.getParameter(gl.MAX_SAMPLES) as number);
  }

  begin(width: number, height: number): void {
    const gl = this.#gl;
    if (!this.#isWorking) return;
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.#frame);
    if (this.#size.width !== width || this.#size.height !== height) {
      this.#size = { width, height };
      this.#attach(this.#colours, gl.RGBA8, gl.COLOR_ATTACHMENT0);
      this.#attach(this.#depths, gl.DEPTH_COMPONENT24, gl.DEPTH_ATTACHMENT);
    }
    if (gl.checkFramebufferStatus(gl.FRAMEBUFFER) === gl.FRAMEBUFFER_COMPLETE) return;
    // Too large for this card: then with the edges that there are.
    this.#isWorking = false;
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  #attach(buffer: WebGLRenderbuffer, format: GLenum, place: GLenum): void {
    const gl = this.#gl;
    gl.bindRenderbuffer(gl.RENDERBUFFER, buffer);
    gl.renderbufferStorageMultisample(gl.RENDERBUFFER, this.#samples, format, this.#size.width, this.#size.height);
    gl.framebufferRenderbuffer(gl.FRAMEBUFFER, place, gl.RENDERBUFFER, buffer);
  }

  end(): void {
    const gl = this.#gl;
    if (!this.#isWorking) return;
    const { width, height } = this.#size;
    gl.bindFramebuffer(gl.READ_FRAMEBUFFER, this.#frame);
    gl.bindFramebuffer(gl.DRAW_FRAMEBUFFER, null);
    gl.blitFramebuffer(0, 0, width, height, 0, 0, width, height, gl.COLOR_BUFFER_BIT, gl.NEAREST);
    gl.invalidateFramebuffer(gl.READ_FRAMEBUFFER, [gl.COLOR_ATTACHMENT0, gl.DEPTH_ATTACHMENT]);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  dispose(): void {
    this.#gl.deleteFramebuffer(this.#frame);
    this.#gl.deleteRenderbuffer(this.#colours);
    this.#gl.deleteRenderbuffer(this.#depths);
  }
}

// --- Levels on the graphics card: two bytes a unit, as they came.

interface Kept {
  readonly texture: WebGLTexture;
  readonly rows: number;
  readonly levels: Uint16Array;
}

class LevelTextures {
  readonly #gl: WebGL2RenderingContext;
  readonly #kept = new Map<string, Kept>();
  readonly #none: WebGLTexture;
  readonly #mostRows: number;

  constructor(gl: WebGL2RenderingContext) {
    this.#gl = gl;
    this.#mostRows = gl.getParameter(gl.MAX_TEXTURE_SIZE) as number;
    this.#none = this.#make(1);
  }

  /** From now on these, by the layer. Only what is new goes to the card. */
  keep(values: ReadonlyMap<string, PlateValues>): void {
    for (const [name, { texture }] of [...this.#kept]) {
      if ((values.get(name)?.levels.length ?? 0) > 0) continue;
      this.#gl.deleteTexture(texture);
      this.#kept.delete(name);
    }
    for (const [name, { levels }] of values) {
      if (levels.length > 0 && this.#kept.get(name)?.levels !== levels) this.#set(name, levels);
    }
  }

  #set(name: string, levels: Uint16Array): void {
    const gl = this.#gl;
    const before = this.#kept.get(name);
    const rows = Math.min(this.#mostRows, Math.ceil(levels.length / TEXTURE_WIDTH));
    const isAsLarge = before?.rows === rows;
    if (before !== undefined && !isAsLarge) gl.deleteTexture(before.texture);
    const texture = isAsLarge ? before.texture : this.#make(rows);
    this.#kept.set(name, { texture, rows, levels });
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 2);
    const whole = Math.min(rows, Math.floor(levels.length / TEXTURE_WIDTH));
    if (whole > 0) this.#fill(0, TEXTURE_WIDTH, whole, levels);
    const rest = levels.length - whole * TEXTURE_WIDTH;
    if (rest > 0 && whole < rows) this.#fill(whole, rest, 1, levels.subarray(whole * TEXTURE_WIDTH));
  }

  #make(rows: number): WebGLTexture {
    const gl = this.#gl;
    const texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.R16UI, TEXTURE_WIDTH, rows);
    keepPixels(gl);
    return texture;
  }

  #fill(row: number, width: number, height: number, levels: Uint16Array): void {
    const gl = this.#gl;
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, row, width, height, gl.RED_INTEGER, gl.UNSIGNED_SHORT, levels);
  }

  /** Something is always bound: a card may refuse to draw otherwise. */
  bind(name: string): void {
    this.#gl.bindTexture(this.#gl.TEXTURE_2D, this.#kept.get(name)?.texture ?? this.#none);
  }

  dispose(): void {
    this.keep(new Map());
    this.#gl.deleteTexture(this.#none);
  }
}

// --- Lines by WebGL2: all of a frame in one buffer, drawn part by part.

/** Of each of them: how many numbers, and where they begin. */
const ATTRIBUTES = [
  [3, 0],
  [3, 3],
  [4, 6],
  [4, 10],
] as const;
const NUMBER_BYTES = 4;

class LinePainter {
  readonly #gl: WebGL2RenderingContext;
  readonly #program: Program;
  readonly #buffer: WebGLBuffer;
  readonly #vertices: WebGLVertexArrayObject;
  /** Where each part begins among the numbers. */
  #starts: number[] = [];

  constructor(gl: WebGL2RenderingContext) {
    this.#gl = gl;
    this.#program = link(gl, LINE_VERTEX, LINE_FRAGMENT);
    this.#buffer = gl.createBuffer();
    this.#vertices = gl.createVertexArray();
    gl.bindVertexArray(this.#vertices);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.#buffer);
    for (const at of ATTRIBUTES.keys()) {
      gl.enableVertexAttribArray(at);
      gl.vertexAttribDivisor(at, 1);
    }
    gl.bindVertexArray(null);
  }

  load(parts: readonly Segments[]): void {
    const gl = this.#gl;
    const all = new Float32Array(parts.reduce((sum, { numbers }) => sum + numbers.length, 0));
    this.#starts = [];
    let start = 0;
    for (const { numbers } of parts) {
      all.set(numbers, start);
      this.#starts.push(start);
      start += numbers.length;
    }
    gl.bindBuffer(gl.ARRAY_BUFFER, this.#buffer);
    gl.bufferData(gl.ARRAY_BUFFER, all, gl.DYNAMIC_DRAW);
  }

  draw(part: number, count: number, matrix: Float32Array, width: number, height: number, focal: number): void {
    const gl = this.#gl;
    const { program, at } = this.#program;
    gl.bindVertexArray(this.#vertices);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.#buffer);
    for (const [nth, [size, offset]] of ATTRIBUTES.entries()) {
      const from = (this.#starts[part]! + offset) * NUMBER_BYTES;
      gl.vertexAttribPointer(nth, size, gl.FLOAT, false, SEGMENT_FLOATS * NUMBER_BYTES, from);
    }
    gl.useProgram(program);
    gl.uniformMatrix4fv(at("view"), false, matrix);
    gl.uniform2f(at("size"), width, height);
    gl.uniform1f(at("focal"), focal);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, count);
  }

  dispose(): void {
    this.#gl.deleteBuffer(this.#buffer);
    this.#gl.deleteVertexArray(this.#vertices);
    this.#gl.deleteProgram(this.#program.program);
  }
}
