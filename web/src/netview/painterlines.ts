/** Lines by WebGL2: all of a frame in one buffer, drawn part by part. */
import { link, type Program } from "../webgl/program";
import { SEGMENT_FLOATS, type Segments } from "./segments";
import { LINE_FRAGMENT, LINE_VERTEX } from "./shaders";

const BYTES = SEGMENT_FLOATS * 4;

/** Of each of them: its number in the shader, how many numbers, where they begin. */
const ATTRIBUTES = [
  [0, 3, 0],
  [1, 3, 12],
  [3, 4, 28],
] as const;

export class LinePainter {
  readonly #gl: WebGL2RenderingContext;
  readonly #program: Program;
  readonly #buffer: WebGLBuffer;
  readonly #vertices: WebGLVertexArrayObject;
  #parts: { readonly start: number; readonly count: number }[] = [];

  constructor(gl: WebGL2RenderingContext) {
    this.#gl = gl;
    this.#program = link(gl, LINE_VERTEX, LINE_FRAGMENT);
    this.#buffer = gl.createBuffer();
    this.#vertices = gl.createVertexArray();
    gl.bindVertexArray(this.#vertices);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.#buffer);
    for (const at of [0, 1, 2, 3]) {
      gl.enableVertexAttribArray(at);
      gl.vertexAttribDivisor(at, 1);
    }
    gl.bindVertexArray(null);
  }

  load(parts: readonly Segments[]): void {
    const gl = this.#gl;
    const total = parts.reduce((sum, part) => sum + part.count, 0);
    const numbers = new Float32Array(total * SEGMENT_FLOATS);
    // As bytes: some of these numbers are colours, which a copy as numbers might change.
    const bytes = new Uint8Array(numbers.buffer);
    this.#parts = [];
    let start = 0;
    for (const part of parts) {
      const own = part.numbers;
      bytes.set(new Uint8Array(own.buffer, own.byteOffset, own.byteLength), start * BYTES);
      this.#parts.push({ start, count: part.count });
      start += part.count;
    }
    gl.bindBuffer(gl.ARRAY_BUFFER, this.#buffer);
    gl.bufferData(gl.ARRAY_BUFFER, numbers, gl.DYNAMIC_DRAW);
  }

  draw(part: number, matrix: Float32Array, width: number, height: number, focal: number): void {
    const gl = this.#gl;
    const { start, count } = this.#parts[part] ?? { start: 0, count: 0 };
    gl.bindVertexArray(this.#vertices);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.#buffer);
    const from = start * BYTES;
    for (const [at, size, offset] of ATTRIBUTES) {
      gl.vertexAttribPointer(at, size, gl.FLOAT, false, BYTES, from + offset);
    }
    gl.vertexAttribPointer(2, 4, gl.UNSIGNED_BYTE, true, BYTES, from + 24);
    const { program, at } = this.#program;
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
