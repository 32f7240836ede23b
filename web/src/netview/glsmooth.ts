/** Frames with smooth edges: drawn into a buffer of four samples a pixel, then onto the canvas. */

const MOST_SAMPLES = 4;

/** Beside the canvas, which has one sample a pixel: frames that have to be quick are drawn there at once. */
export class SmoothTarget {
  readonly #gl: WebGL2RenderingContext;
  readonly #samples: number;
  #frame: WebGLFramebuffer | null = null;
  #buffers: WebGLRenderbuffer[] = [];
  #size = { width: 0, height: 0 };
  #isWorking = true;

  constructor(gl: WebGL2RenderingContext) {
    this.#gl = gl;
    this.#samples = Math.min(MOST_SAMPLES, gl.getParameter(gl.MAX_SAMPLES) as number);
  }

  begin(width: number, height: number): void {
    const gl = this.#gl;
    if (!this.#isWorking) return;
    if (this.#size.width !== width || this.#size.height !== height) this.#make(width, height);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.#frame);
    if (gl.checkFramebufferStatus(gl.FRAMEBUFFER) === gl.FRAMEBUFFER_COMPLETE) return;
    // Too large for this card: then with the edges that there are.
    this.#isWorking = false;
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
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

  #make(width: number, height: number): void {
    const gl = this.#gl;
    this.dispose();
    this.#size = { width, height };
    this.#frame = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.#frame);
    const parts = [
      [gl.RGBA8, gl.COLOR_ATTACHMENT0],
      [gl.DEPTH_COMPONENT24, gl.DEPTH_ATTACHMENT],
    ] as const;
    for (const [format, place] of parts) {
      const buffer = gl.createRenderbuffer();
      gl.bindRenderbuffer(gl.RENDERBUFFER, buffer);
      gl.renderbufferStorageMultisample(gl.RENDERBUFFER, this.#samples, format, width, height);
      gl.framebufferRenderbuffer(gl.FRAMEBUFFER, place, gl.RENDERBUFFER, buffer);
      this.#buffers.push(buffer);
    }
  }

  dispose(): void {
    this.#gl.deleteFramebuffer(this.#frame);
    for (const buffer of this.#buffers) this.#gl.deleteRenderbuffer(buffer);
    this.#buffers = [];
    this.#frame = null;
    this.#size = { width: 0, height: 0 };
  }
}
