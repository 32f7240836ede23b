/** Points by WebGL2: one buffer of places, one of colours, drawn by lists of numbers. */
import type { Rgb } from "../../ui/colour-scale";
import { clear, keepPixels, link, openGl, type Program, shades } from "../webgl";
import type { SpriteImage } from "./embedding";

const RIM = 2;
const MARK = 3;

interface Frame {
  readonly matrix: Float32Array;
  readonly ratio: number;
  /** In CSS pixels, at the target. */
  readonly pointSize: number;
  /** Of the eye from the target; 0 where the view is flat. */
  readonly distance: number;
  readonly surface: Rgb;
  readonly ink: Rgb;
  readonly withSprites: boolean;
  /** How many of those shown are drawn, from the first on; not all while a slow card has to keep up. */
  readonly numDrawn: number;
}

/** What is on the card, and how many numbers each point has there; `shown` and `marked` are lists of points. */
const PARTS = { places: 3, colours: 4, shown: 1, marked: 1 };
type Part = keyof typeof PARTS;

export class GlPainter {
  readonly #gl: WebGL2RenderingContext;
  readonly #points: Program;
  readonly #pictures: Program;
  readonly #buffers: Readonly<Record<Part, WebGLBuffer>>;
  readonly #counts = { places: 0, colours: 0, shown: 0, marked: 0 };
  readonly #vertices: WebGLVertexArrayObject;
  #sheet: WebGLTexture | null = null;
  #sprites: SpriteImage | null = null;

  constructor(canvas: HTMLCanvasElement) {
    const gl = openGl(canvas, false);
    this.#gl = gl;
    this.#points = link(gl, POINT_VERTEX, POINT_FRAGMENT);
    this.#pictures = link(gl, SPRITE_VERTEX, SPRITE_FRAGMENT);
    this.#buffers = { places: gl.createBuffer(), colours: gl.createBuffer(), shown: gl.createBuffer(), marked: gl.createBuffer() };
    this.#vertices = gl.createVertexArray();
    gl.bindVertexArray(this.#vertices);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.#buffers.places);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, PARTS.places, gl.FLOAT, false, 0, 0);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.#buffers.colours);
    gl.enableVertexAttribArray(1);
    gl.vertexAttribPointer(1, PARTS.colours, gl.UNSIGNED_BYTE, true, 0, 0);
    gl.bindVertexArray(null);
  }

  /** Colours are red, green, blue, 255. Points that are marked are drawn once more, above all others, with an outline. */
  fill(part: Part, data: Float32Array | Uint8Array | Int32Array): void {
    const gl = this.#gl;
    const target = PARTS[part] === 1 ? gl.ELEMENT_ARRAY_BUFFER : gl.ARRAY_BUFFER;
    gl.bindVertexArray(null);
    gl.bindBuffer(target, this.#buffers[part]);
    gl.bufferData(target, data, gl.DYNAMIC_DRAW);
    this.#counts[part] = data.length / PARTS[part];
  }

  /** Why they cannot be drawn; empty where they can. */
  setSprites(sprites: SpriteImage | null): string {
    const gl = this.#gl;
    gl.deleteTexture(this.#sheet);
    this.#sheet = null;
    this.#sprites = null;
    if (sprites === null) return "";
    const most = gl.getParameter(gl.MAX_TEXTURE_SIZE) as number;
    const { image } = sprites;
    if (Math.max(image.width, image.height) > most)
      return `The sheet of pictures (${image.width}×${image.height}) is larger than this browser can draw (${most}).`;
    this.#sheet = gl.createTexture();
    this.#sprites = sprites;
    gl.bindTexture(gl.TEXTURE_2D, this.#sheet);
    gl.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, false);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, image);
    // Small pictures are drawn larger: their pixels stay pixels.
    keepPixels(gl, gl.LINEAR);
    return "";
  }

  paint(frame: Frame): void {
    const gl = this.#gl;
    const { places, colours, shown, marked } = this.#counts;
    clear(gl, frame.surface);
    // Buffers that do not belong together yet: the other one comes at once.
    if (places !== colours) return;
    gl.bindVertexArray(this.#vertices);
    gl.disable(gl.BLEND);
    gl.depthFunc(gl.LEQUAL);
    // Flat, the last drawn is on top; in depth, the nearest.
    if (frame.distance > 0) gl.enable(gl.DEPTH_TEST);
    else gl.disable(gl.DEPTH_TEST);
    const count = Math.min(frame.numDrawn, shown);
    if (frame.withSprites && this.#sprites !== null) this.#drawPictures(frame, this.#sprites, count);
    else {
      this.#drawPoints(frame, "shown", count, frame.pointSize, haloOf(shown), frame.surface);
      gl.disable(gl.DEPTH_TEST);
      if (marked > 0) this.#drawPoints(frame, "marked", marked, frame.pointSize + MARK, RIM, frame.ink);
    }
    gl.bindVertexArray(null);
  }

  #drawPoints(frame: Frame, part: "shown" | "marked", count: number, size: number, ring: number, rim: Rgb): void {
    const gl = this.#gl;
    const at = this.#use(this.#points, frame, size);
    gl.uniform1f(at("ring"), ring * frame.ratio);
    gl.uniform3f(at("rim"), ...shades(rim));
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.#buffers[part]);
    gl.drawElements(gl.POINTS, count, gl.UNSIGNED_INT, 0);
  }

  #drawPictures(frame: Frame, { image, width, height, perRow }: SpriteImage, count: number): void {
    const gl = this.#gl;
    const at = this.#use(this.#pictures, frame, frame.pointSize);
    const longest = Math.max(width, height);
    gl.uniform1i(at("perRow"), perRow);
    gl.uniform1i(at("sheet"), 0);
    gl.uniform2f(at("cellSize"), width / image.width, height / image.height);
    gl.uniform2f(at("aspect"), width / longest, height / longest);
    gl.uniform1f(at("border"), 2 * frame.ratio);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.#sheet);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.#buffers.shown);
    gl.drawElements(gl.POINTS, count, gl.UNSIGNED_INT, 0);
  }

  #use({ program, at }: Program, frame: Frame, pointSize: number): Program["at"] {
    const gl = this.#gl;
    gl.useProgram(program);
    gl.uniformMatrix4fv(at("view"), false, frame.matrix);
    gl.uniform1f(at("pointSize"), pointSize * frame.ratio);
    gl.uniform1f(at("distance_"), frame.distance);
    gl.uniform3f(at("surface"), ...shades(frame.surface));
    return at;
  }

  dispose(): void {
    const gl = this.#gl;
    gl.deleteTexture(this.#sheet);
    for (const buffer of Object.values(this.#buffers)) gl.deleteBuffer(buffer);
    gl.deleteVertexArray(this.#vertices);
    for (const { program } of [this.#points, this.#pictures]) gl.deleteProgram(program);
  }
}

/** Between few points a halo tells them apart; between very many it would be all that is seen. */
function haloOf(count: number): number {
  return count <= 5000 ? 1 : count >= 20_000 ? 0 : 0.5;
}

// --- What runs on the graphics card. Colours are bytes of the theme and stay as they are: nothing is lit.

const PLACING = `#version 300 es
layout(location = 0) in vec3 place;
layout(location = 1) in vec4 colour;
out vec3 tint;
out float fade;
uniform mat4 view;
uniform float pointSize;
uniform float distance_;
// Nearer points are larger and fresher, those behind are smaller and nearer to the background.
float sizeFactor(float w) { return distance_ > 0.0 ? clamp(distance_ / w, 0.45, 4.0) : 1.0; }
float fadeOf(float w) { return distance_ > 0.0 ? 0.62 * clamp((w - distance_ + 0.75) / 1.9, 0.0, 1.0) : 0.0; }
`;

const POINT_VERTEX = `${PLACING}
uniform float ring;
out float edge;
void main() {
  gl_Position = view * vec4(place, 1.0);
  float size = max(pointSize * sizeFactor(gl_Position.w), 2.0) + 2.0 * ring;
  gl_PointSize = size;
  tint = colour.rgb;
  fade = ring > 1.5 ? 0.0 : fadeOf(gl_Position.w);
  edge = 1.0 - 2.0 * ring / size;
}`;

const POINT_FRAGMENT = `#version 300 es
precision mediump float;
in vec3 tint;
in float fade;
in float edge;
uniform vec3 surface;
uniform vec3 rim;
out vec4 result;
void main() {
  vec2 from = gl_PointCoord * 2.0 - 1.0;
  float square = dot(from, from);
  if (square > 1.0) discard;
  vec3 inner = mix(tint, surface, fade);
  result = vec4(square > edge * edge ? rim : inner, 1.0);
}`;

const SPRITE_VERTEX = `${PLACING}
uniform int perRow;
flat out vec2 cell;
flat out float size;
void main() {
  gl_Position = view * vec4(place, 1.0);
  size = max(pointSize * sizeFactor(gl_Position.w), 4.0);
  gl_PointSize = size;
  tint = colour.rgb;
  fade = 0.6 * fadeOf(gl_Position.w);
  cell = vec2(float(gl_VertexID % perRow), float(gl_VertexID / perRow));
}`;

const SPRITE_FRAGMENT = `#version 300 es
precision highp float;
in vec3 tint;
in float fade;
flat in vec2 cell;
flat in float size;
uniform vec3 surface;
uniform sampler2D sheet;
uniform vec2 cellSize;   // of one picture, as a share of the sheet
uniform vec2 aspect;     // how much of the square the picture fills
uniform float border;    // of the colour of the point, in pixels
out vec4 result;
void main() {
  vec2 from = (gl_PointCoord * 2.0 - 1.0) / aspect;
  vec2 inset = vec2(2.0 * border / size) / aspect;
  if (max(abs(from.x), abs(from.y)) > 1.0) discard;
  vec2 inside = from / max(vec2(0.05), 1.0 - inset);
  if (max(abs(inside.x), abs(inside.y)) > 1.0) {
    result = vec4(mix(tint, surface, fade), 1.0);
    return;
  }
  // Half a picture point in from its edge, so that the neighbour in the sheet does not shine through.
  vec2 half_ = 0.5 / (cellSize * vec2(textureSize(sheet, 0)));
  vec2 at = clamp(inside * 0.5 + 0.5, half_, 1.0 - half_);
  vec4 picture = texture(sheet, (cell + at) * cellSize);
  vec3 shown = mix(surface, picture.rgb, picture.a);
  result = vec4(mix(shown, surface, fade), 1.0);
}`;
