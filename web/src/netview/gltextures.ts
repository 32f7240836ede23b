/** Levels on the graphics card: two bytes a unit, as they came. */
import { TEXTURE_WIDTH } from "./shaderparts";

interface Kept {
  readonly texture: WebGLTexture;
  readonly rows: number;
}

export class LevelTextures {
  readonly #gl: WebGL2RenderingContext;
  readonly #kept = new Map<string, Kept>();
  readonly #none: WebGLTexture;
  readonly #mostRows: number;

  constructor(gl: WebGL2RenderingContext) {
    this.#gl = gl;
    this.#mostRows = gl.getParameter(gl.MAX_TEXTURE_SIZE) as number;
    this.#none = this.#make(1);
  }

  set(key: string, levels: Uint16Array | null): void {
    const gl = this.#gl;
    const before = this.#kept.get(key);
    if (levels === null || levels.length === 0) {
      if (before !== undefined) gl.deleteTexture(before.texture);
      this.#kept.delete(key);
      return;
    }
    const rows = Math.min(this.#mostRows, Math.ceil(levels.length / TEXTURE_WIDTH));
    let kept = before;
    if (kept?.rows !== rows) {
      if (kept !== undefined) gl.deleteTexture(kept.texture);
      kept = { texture: this.#make(rows), rows };
      this.#kept.set(key, kept);
    }
    gl.bindTexture(gl.TEXTURE_2D, kept.texture);
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
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
    return texture;
  }

  #fill(row: number, width: number, height: number, levels: Uint16Array): void {
    const gl = this.#gl;
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, row, width, height, gl.RED_INTEGER, gl.UNSIGNED_SHORT, levels);
  }

  /** Something is always bound: a card may refuse to draw otherwise. */
  bind(key: string): void {
    this.#gl.bindTexture(this.#gl.TEXTURE_2D, this.#kept.get(key)?.texture ?? this.#none);
  }

  dispose(): void {
    for (const { texture } of this.#kept.values()) this.#gl.deleteTexture(texture);
    this.#gl.deleteTexture(this.#none);
    this.#kept.clear();
  }
}
