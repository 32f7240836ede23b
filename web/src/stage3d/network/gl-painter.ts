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

export function glPainter(canvas: HTMLCanvasElement) {
  const gl = openGl(canvas, true);
  let poll: ReturnType<typeof setTimeout> | undefined;
  let isLost = false;
  canvas.addEventListener("webglcontextlost", () => (isLost = true), { once: true });
  const programs = {
    plate: link(gl, PLATE_VERTEX, PLATE_FRAGMENT),
    values: link(gl, PLATE_VERTEX, FLAT_FRAGMENTS.values),
    picture: link(gl, PLATE_VERTEX, FLAT_FRAGMENTS.picture),
    quickValues: link(gl, PLATE_VERTEX, FLAT_FRAGMENTS.quickValues),
    quickPicture: link(gl, PLATE_VERTEX, FLAT_FRAGMENTS.quickPicture),
    bars: link(gl, BARS_VERTEX, BARS_FRAGMENT),
    field: link(gl, FIELD_VERTEX, FIELD_FRAGMENT),
  };
  const smooth = smoothTarget(gl);
  const lines = linePainter(gl);
  const levels = levelTextures(gl);
  const ramp = gl.createTexture();
  const nothing = gl.createVertexArray();
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  gl.depthFunc(gl.LEQUAL);

  function paint(frame: Frame): void {
    if (!frame.isQuick) smooth.begin(gl.drawingBufferWidth, gl.drawingBufferHeight);
    gl.depthMask(true);
    clear(gl, frame.inks.canvas);
    // Flat, all lies in one plane: what comes later is above.
    if (frame.camera.isFlat) gl.disable(gl.DEPTH_TEST);
    else gl.enable(gl.DEPTH_TEST);
    lines.load([...frame.plates.map((plate) => plate.linesBefore), frame.linesAfter]);
    for (const [at, plate] of frame.plates.entries()) {
      lines.draw(frame, at, plate.linesBefore.count);
      gl.bindVertexArray(nothing);
      drawFlat(frame, plate);
      if (plate.form === "bars") drawBars(frame, plate);
      else if (plate.form === "field") drawField(frame, plate);
    }
    lines.draw(frame, frame.plates.length, frame.linesAfter.count);
    gl.bindVertexArray(null);
    if (!frame.isQuick) smooth.end();
  }

  /** The plate itself, and on it its units where they lie flat. */
  function drawFlat(frame: Frame, painted: PaintedPlate): void {
    const { cells } = painted.plate;
    const isPicture = painted.form === "flat" && painted.scaling !== null;
    const kind = cells.colourStride > 0 ? (frame.isQuick ? "quickPicture" : "picture") : frame.isQuick ? "quickValues" : "values";
    const program = programs[isPicture ? kind : "plate"];
    const { at } = program;
    if (isPicture) use(program, frame, painted);
    else useEmpty(program, frame, painted);
    gl.uniform2f(at("margin"), ...marginsOf(painted.plate));
    gl.uniform2f(at("extent"), cells.columns, cells.rows);
    gl.uniform4f(at("fill"), ...shades(frame.inks.surface), FILL);
    // What is behind shines through a plate, and lines may cross it; not through its units.
    gl.depthMask(isPicture);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
  }

  function useEmpty(program: Program, frame: Frame, { plate, isMissing, isWaiting }: PaintedPlate): void {
    const { surface, faint, quiet } = frame.inks;
    place(program, frame, plate);
    gl.uniform3f(program.at("dark"), ...shades(isMissing ? mixed(surface, faint, HATCH.dark) : quiet));
    gl.uniform3f(program.at("pale"), ...shades(isMissing ? mixed(surface, faint, HATCH.pale) : quiet));
    gl.uniform1f(program.at("covers"), isMissing ? 1 : isWaiting ? 0.5 : 0);
  }

  function drawBars(frame: Frame, painted: PaintedPlate): void {
    const { at } = programs.bars;
    const { columns, rows } = painted.plate.cells;
    const eye = onPlate(painted.plate, eyeOf(frame.camera));
    use(programs.bars, frame, painted);
    gl.uniform3f(at("eye"), ...eye);
    gl.uniform2i(at("isReversed"), Number(eye[0] < columns / 2), Number(eye[1] < rows / 2));
    gl.depthMask(true);
    gl.drawArrays(gl.TRIANGLES, 0, columns * rows * 18);
  }

  function drawField(frame: Frame, painted: PaintedPlate): void {
    const { at } = programs.field;
    const { columns, rows } = painted.plate.cells;
    use(programs.field, frame, painted);
    gl.uniform3f(at("eye"), ...onPlate(painted.plate, eyeOf(frame.camera)));
    gl.uniform3f(at("extent"), columns, rows, painted.highest);
    gl.depthMask(true);
    gl.enable(gl.CULL_FACE);
    // The far sides: they are there also when the eye is inside the box.
    gl.cullFace(gl.FRONT);
    gl.drawArrays(gl.TRIANGLES, 0, 36);
    gl.disable(gl.CULL_FACE);
  }

  function place({ program, at }: Program, frame: Frame, plate: Plate): void {
    gl.useProgram(program);
    gl.uniformMatrix4fv(at("view"), false, frame.matrix);
    for (const name of ["origin", "across", "down", "up"] as const) gl.uniform3f(at(name), ...plate[name]);
  }

  function use(program: Program, frame: Frame, painted: PaintedPlate): void {
    const { at } = program;
    const { cells } = painted.plate;
    const { tileColumns, tileRows, gap } = cells;
    const scaling = painted.scaling!;
    place(program, frame, painted.plate);
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
    gl.uniform2f(at("notThere"), frame.isOfUnit ? HATCH.pale : HATCH.dark, HATCH.pale);
    for (const name of ["danger", "faint", "surface"] as const) gl.uniform3f(at(name), ...shades(frame.inks[name]));
    gl.uniform1i(at("levels"), 0);
    gl.uniform1i(at("ramp"), 1);
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, ramp);
    gl.activeTexture(gl.TEXTURE0);
    levels.bind(painted.plate.layer.name);
  }

  return {
    levels,
    paint,
    /** 256 colours, four bytes each. */
    setRamp(bytes: Uint8ClampedArray): void {
      gl.bindTexture(gl.TEXTURE_2D, ramp);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(bytes));
      keepPixels(gl);
    },
    /** How long a frame took on the card, when that is known. */
    measure(onKnown: (milliseconds: number) => void): void {
      clearTimeout(poll);
      const start = performance.now();
      const fence = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
      if (fence === null) return;
      gl.flush();
      const look = (): void => {
        const state = gl.clientWaitSync(fence, 0, 0);
        if (state === gl.TIMEOUT_EXPIRED) {
          poll = setTimeout(look, POLL_MS);
          return;
        }
        gl.deleteSync(fence);
        if (state !== gl.WAIT_FAILED) onKnown(performance.now() - start);
      };
      poll = setTimeout(look, POLL_MS);
    },
    dispose(): void {
      clearTimeout(poll);
      // With a card that was taken away went all that was on it, also where it is back.
      if (isLost) return;
      for (const part of [levels, lines, smooth]) part.dispose();
      gl.deleteTexture(ramp);
      gl.deleteVertexArray(nothing);
      for (const { program } of Object.values(programs)) gl.deleteProgram(program);
    },
  };
}

function mixed(from: Rgb, to: Rgb, share: number): Rgb {
  const part = (at: 0 | 1 | 2): number => from[at] + (to[at] - from[at]) * share;
  return [part(0), part(1), part(2)];
}

// --- Frames with smooth edges: drawn into a buffer of four samples a pixel, then onto the canvas.

const MOST_SAMPLES = 4;

/** Beside the canvas, which has one sample a pixel: frames that have to be quick are drawn there at once. */
function smoothTarget(gl: WebGL2RenderingContext) {
  const frame = gl.createFramebuffer();
  const [colours, depths] = [gl.createRenderbuffer(), gl.createRenderbuffer()];
  const samples = Math.min(MOST_SAMPLES, gl.getParameter(gl.MAX_SAMPLES) as number);
  let [width, height] = [0, 0];
  let isWorking = true;
  const attach = (buffer: WebGLRenderbuffer, format: GLenum, place: GLenum): void => {
    gl.bindRenderbuffer(gl.RENDERBUFFER, buffer);
    gl.renderbufferStorageMultisample(gl.RENDERBUFFER, samples, format, width, height);
    gl.framebufferRenderbuffer(gl.FRAMEBUFFER, place, gl.RENDERBUFFER, buffer);
  };
  return {
    begin(wide: number, high: number): void {
      if (!isWorking) return;
      gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
      if (width !== wide || height !== high) {
        [width, height] = [wide, high];
        attach(colours, gl.RGBA8, gl.COLOR_ATTACHMENT0);
        attach(depths, gl.DEPTH_COMPONENT24, gl.DEPTH_ATTACHMENT);
      }
      if (gl.checkFramebufferStatus(gl.FRAMEBUFFER) === gl.FRAMEBUFFER_COMPLETE) return;
      // Too large for this card: then with the edges that there are.
      isWorking = false;
      gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    },
    end(): void {
      if (!isWorking) return;
      gl.bindFramebuffer(gl.READ_FRAMEBUFFER, frame);
      gl.bindFramebuffer(gl.DRAW_FRAMEBUFFER, null);
      gl.blitFramebuffer(0, 0, width, height, 0, 0, width, height, gl.COLOR_BUFFER_BIT, gl.NEAREST);
      gl.invalidateFramebuffer(gl.READ_FRAMEBUFFER, [gl.COLOR_ATTACHMENT0, gl.DEPTH_ATTACHMENT]);
      gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    },
    dispose(): void {
      gl.deleteFramebuffer(frame);
      for (const buffer of [colours, depths]) gl.deleteRenderbuffer(buffer);
    },
  };
}

interface Kept {
  readonly texture: WebGLTexture;
  readonly rows: number;
  readonly levels: Uint16Array;
}

/** Levels on the graphics card: two bytes a unit, as they came. */
function levelTextures(gl: WebGL2RenderingContext) {
  const mostRows = gl.getParameter(gl.MAX_TEXTURE_SIZE) as number;
  const make = (rows: number): WebGLTexture => {
    const texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.R16UI, TEXTURE_WIDTH, rows);
    keepPixels(gl);
    return texture;
  };
  const kept = new Map<string, Kept>();
  const none = make(1);

  function set(name: string, levels: Uint16Array): void {
    const before = kept.get(name);
    const rows = Math.min(mostRows, Math.ceil(levels.length / TEXTURE_WIDTH));
    const isAsLarge = before?.rows === rows;
    if (before !== undefined && !isAsLarge) gl.deleteTexture(before.texture);
    const texture = isAsLarge ? before.texture : make(rows);
    kept.set(name, { texture, rows, levels });
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 2);
    const fill = (row: number, width: number, height: number, some: Uint16Array): void => {
      gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, row, width, height, gl.RED_INTEGER, gl.UNSIGNED_SHORT, some);
    };
    const whole = Math.min(rows, Math.floor(levels.length / TEXTURE_WIDTH));
    if (whole > 0) fill(0, TEXTURE_WIDTH, whole, levels);
    const rest = levels.length - whole * TEXTURE_WIDTH;
    if (rest > 0 && whole < rows) fill(whole, rest, 1, levels.subarray(whole * TEXTURE_WIDTH));
  }

  return {
    /** From now on these, by the layer. Only what is new goes to the card. */
    keep(values: ReadonlyMap<string, PlateValues>): void {
      for (const [name, { texture }] of [...kept]) {
        if ((values.get(name)?.levels.length ?? 0) > 0) continue;
        gl.deleteTexture(texture);
        kept.delete(name);
      }
      for (const [name, { levels }] of values) {
        if (levels.length > 0 && kept.get(name)?.levels !== levels) set(name, levels);
      }
    },
    /** Something is always bound: a card may refuse to draw otherwise. */
    bind(name: string): void {
      gl.bindTexture(gl.TEXTURE_2D, kept.get(name)?.texture ?? none);
    },
    dispose(): void {
      for (const { texture } of [...kept.values(), { texture: none }]) gl.deleteTexture(texture);
    },
  };
}

/** Of each of them: how many numbers, and where they begin. */
const ATTRIBUTES = [
  [3, 0],
  [3, 3],
  [4, 6],
  [4, 10],
] as const;
const NUMBER_BYTES = 4;

/** Lines by WebGL2: all of a frame in one buffer, drawn part by part. */
function linePainter(gl: WebGL2RenderingContext) {
  const { program, at } = link(gl, LINE_VERTEX, LINE_FRAGMENT);
  const buffer = gl.createBuffer();
  const vertices = gl.createVertexArray();
  /** Where each part begins among the numbers. */
  let starts: number[] = [];
  gl.bindVertexArray(vertices);
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  for (const nth of ATTRIBUTES.keys()) {
    gl.enableVertexAttribArray(nth);
    gl.vertexAttribDivisor(nth, 1);
  }
  gl.bindVertexArray(null);
  return {
    load(parts: readonly Segments[]): void {
      const all = new Float32Array(parts.reduce((sum, { numbers }) => sum + numbers.length, 0));
      starts = [];
      let start = 0;
      for (const { numbers } of parts) {
        all.set(numbers, start);
        starts.push(start);
        start += numbers.length;
      }
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.bufferData(gl.ARRAY_BUFFER, all, gl.DYNAMIC_DRAW);
    },
    draw({ camera, size, ratio, matrix }: Frame, part: number, count: number): void {
      if (count === 0) return;
      gl.depthMask(false);
      gl.bindVertexArray(vertices);
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      for (const [nth, [numbers, offset]] of ATTRIBUTES.entries()) {
        const from = (starts[part]! + offset) * NUMBER_BYTES;
        gl.vertexAttribPointer(nth, numbers, gl.FLOAT, false, SEGMENT_FLOATS * NUMBER_BYTES, from);
      }
      gl.useProgram(program);
      gl.uniformMatrix4fv(at("view"), false, matrix);
      gl.uniform2f(at("size"), size.width * ratio, size.height * ratio);
      gl.uniform1f(at("focal"), pixelsPerUnit(camera, size) * ratio * (camera.isFlat ? 1 : camera.distance));
      gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, count);
    },
    dispose(): void {
      gl.deleteBuffer(buffer);
      gl.deleteVertexArray(vertices);
      gl.deleteProgram(program);
    },
  };
}
