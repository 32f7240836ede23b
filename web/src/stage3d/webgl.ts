/** What drawings by WebGL2 have in common: a context, programs, textures, and the loss of the card. */

/** Throws where the browser has no WebGL2. */
export function openGl(canvas: HTMLCanvasElement, alpha: boolean): WebGL2RenderingContext {
  const gl = canvas.getContext("webgl2", { antialias: false, alpha, powerPreference: "high-performance" });
  if (gl === null) throw new Error("no WebGL2");
  return gl;
}

/** A program of the graphics card, with the places of its settings. */
export interface Program {
  readonly program: WebGLProgram;
  readonly at: (name: string) => WebGLUniformLocation | null;
}

/** Throws what the card has to say where the shaders do not fit. */
export function link(gl: WebGL2RenderingContext, vertex: string, fragment: string): Program {
  const program = gl.createProgram();
  const shaders = [
    [gl.VERTEX_SHADER, vertex],
    [gl.FRAGMENT_SHADER, fragment],
  ] as const;
  const reasons: string[] = [];
  for (const [type, text] of shaders) {
    const shader = gl.createShader(type);
    if (shader === null) throw new Error("no shader");
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
    reasons.push(gl.getShaderInfoLog(shader) ?? "");
    gl.deleteShader(shader);
  }
  gl.linkProgram(program);
  if (gl.getProgramParameter(program, gl.LINK_STATUS) !== true && !gl.isContextLost())
    throw new Error([gl.getProgramInfoLog(program), ...reasons].join(" ") || "the shaders do not fit together");
  const known = new Map<string, WebGLUniformLocation | null>();
  const at = (name: string): WebGLUniformLocation | null => {
    if (!known.has(name)) known.set(name, gl.getUniformLocation(program, name));
    return known.get(name) ?? null;
  };
  return { program, at };
}

/** What is bound to be drawn from keeps its own pixels: nearest where it is larger and, but for `smaller`, where it is smaller. */
export function keepPixels(gl: WebGL2RenderingContext, smaller: GLenum = gl.NEAREST): void {
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, smaller);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
}

/** From 0 to 1, as the card takes them. */
export function shades([red, green, blue]: readonly [number, number, number]): [number, number, number] {
  return [red / 255, green / 255, blue / 255];
}

/** All of the canvas in one colour, and nothing nearer than anything. */
export function clear(gl: WebGL2RenderingContext, colour: readonly [number, number, number]): void {
  gl.viewport(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight);
  gl.clearColor(...shades(colour), 1);
  gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
}

/** The browser may take the graphics card away; it says when it is back. */
export function followLoss(element: HTMLCanvasElement, onLost: () => void, onBack: () => void): () => void {
  const lost = (event: Event): void => {
    event.preventDefault();
    onLost();
  };
  element.addEventListener("webglcontextlost", lost);
  element.addEventListener("webglcontextrestored", onBack);
  return () => {
    element.removeEventListener("webglcontextlost", lost);
    element.removeEventListener("webglcontextrestored", onBack);
  };
}
